import { registerMvuSchema } from 'https://testingcf.jsdelivr.net/gh/StageDog/tavern_resource/dist/util/mvu_zod.js';

// Whole numbers between two bounds, repaired instead of refused.
const within = (low, high, start) =>
  z.coerce.number().transform(v => _.clamp(Math.round(v), low, high)).prefault(start);

const Guest = z.object({
  trust: within(-50, 100, 0),
  mood: z.enum(['content', 'curious', 'wary', 'upset', 'asleep']).prefault('curious'),
  present: z.boolean().prefault(false),
  bed: z.coerce.number().int().min(1).max(9).optional().describe('one of the nine beds'),
});

const Provision = z.object({
  count: z.coerce.number().transform(v => Math.max(0, Math.floor(v))).prefault(1),
  note: z.string().prefault(''),
});

export const Schema = z.object({
  house: z.object({
    day: within(1, 7, 1).describe('day of the snowed-in week'),
    hour: within(0, 23, 16),
    weather: z.enum(['clear', 'snow', 'blizzard', 'thaw']).prefault('clear'),
    stove: z.enum(['cold', 'warm', 'roaring']).prefault('warm'),
    logs: within(0, 60, 30).describe('six a night keep the stove warm'),
  }).prefault({}),
  keeper: z.object({
    warmth: within(0, 100, 70),
    coin: z.coerce.number().transform(v => Math.max(0, Math.floor(v))).prefault(0),
    room: z.string().prefault('common room'),
  }).prefault({}),
  guests: z.record(z.string().describe('name of the guest'), Guest).prefault({}),
  pantry: z.record(z.string().describe('provision'), Provision)
    .transform(shelf => _.pickBy(shelf, ({ count }) => count > 0))
    .prefault({}),
  rumours: z.record(z.string(), z.string()).prefault({}),
  $arc: z.string().prefault('the snowed-in week'),
});

$(() => {
  registerMvuSchema(Schema);
});
