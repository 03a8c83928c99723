// 守灯守则：旁白写的更新先从这里过一遍。守则只会划掉更新，从不添写。
//  一、好感要慢慢攒，一条更新最多动十点；
//  二、$ 开头的字段归作者，旁白不许碰。
eventOn('global_Mvu_initialized', () => {
  const 单步上限 = 10;

  function 路径(文字) {
    try {
      const 值 = JSON.parse(文字);
      return typeof 值 === 'string' ? 值 : 文字;
    } catch (错误) {
      return 文字;
    }
  }

  function 现值(变量, 点路径) {
    let 此处 = 变量.stat_data;
    for (const 段 of 点路径.split('.')) {
      if (此处 === null || typeof 此处 !== 'object') return undefined;
      此处 = 此处[段];
    }
    return 此处;
  }

  function 许可(变量, 命令) {
    const 点路径 = 路径(命令.args[0]);
    if (点路径.split('.').some(段 => 段.startsWith('$'))) return false;
    if (!/^人物\..+\.好感$/.test(点路径)) return true;
    const 数 = Number(命令.args[命令.args.length - 1]);
    if (命令.type === 'add') return Math.abs(数) <= 单步上限;
    if (命令.type !== 'set') return true;
    const 旧 = Number(现值(变量, 点路径));
    return Number.isNaN(旧) || Math.abs(数 - 旧) <= 单步上限;
  }

  eventOn(Mvu.events.COMMAND_PARSED, (变量, 命令们) => {
    for (let i = 命令们.length - 1; i >= 0; i -= 1) {
      if (!许可(变量, 命令们[i])) 命令们.splice(i, 1);
    }
  });
});
