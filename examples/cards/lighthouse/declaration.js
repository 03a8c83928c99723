import { registerMvuSchema } from 'https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js';

// 零到一百的刻度到处都用，写成一个小函数。
const 刻度 = (初值) => z.coerce.number().transform(v => _.clamp(Math.round(v), 0, 100)).prefault(初值);

const 物品 = z.object({
  数量: z.coerce.number().transform(v => Math.max(0, Math.floor(v))).prefault(1),
  说明: z.string().prefault(''),
});

const 人物 = z.object({
  好感: z.coerce.number().transform(v => _.clamp(v, -100, 100)).prefault(0),
  心情: z.enum(['平静', '高兴', '担心', '生气', '害怕']).prefault('平静'),
  在场: z.boolean().prefault(false),
  备注: z.string().prefault(''),
});

export const Schema = z.object({
  世界: z.object({
    夜: z.coerce.number().int().transform(v => _.clamp(v, 1, 3)).prefault(1).describe('守灯的第几夜，一共三夜'),
    时刻: z.string().prefault('18:00').describe('二十四小时制'),
    天气: z.enum(['晴', '薄雾', '浓雾', '小雨', '风暴']).prefault('薄雾'),
    地点: z.string().prefault('灯塔'),
  }).prefault({}),
  灯塔: z.object({
    灯火: z.enum(['熄灭', '微弱', '明亮']).prefault('微弱'),
    灯油: 刻度(60).describe('满壶为一百'),
    号钟: z.coerce.number().int().min(0).prefault(0).describe('今夜敲过几次'),
    日志: z.array(z.string()).prefault([]),
  }).prefault({}),
  主角: z.object({
    体力: 刻度(80),
    铜板: z.coerce.number().transform(v => Math.max(0, Math.floor(v))).prefault(0),
    行囊: z.record(z.string().describe('物品名'), 物品)
      .transform(袋 => _.pickBy(袋, 物 => 物.数量 > 0))
      .prefault({}),
  }).prefault({}),
  人物: z.record(z.string().describe('人物名'), 人物).prefault({}),
  线索: z.record(z.string(), z.string()).prefault({}),
  $剧本: z.string().prefault('三夜守灯'),
});

$(() => {
  registerMvuSchema(Schema);
});
