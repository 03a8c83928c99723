// House rules. Every update passes here first; a rule may only strike an update out, never write one.
//  1. Coin is counted on the counter: one update moves at most ten coins.
//  2. The logs of the wood pile do not grow by themselves: only the stove takes from it.
//  3. Fields that begin with $ belong to the author.
eventOn('global_Mvu_initialized', () => {
  const MOST_COINS = 10;

  function pathOf(text) {
    try {
      const value = JSON.parse(text);
      return typeof value === 'string' ? value : text;
    } catch (error) {
      return text;
    }
  }

  function valueAt(variables, path) {
    let here = variables.stat_data;
    for (const key of path.split('.')) {
      if (here === null || typeof here !== 'object') return undefined;
      here = here[key];
    }
    return here;
  }

  function change(variables, command, path) {
    const number = Number(command.args[command.args.length - 1]);
    return command.type === 'add' ? number : number - Number(valueAt(variables, path));
  }

  function allowed(variables, command) {
    const path = pathOf(command.args[0]);
    if (path.split('.').some(key => key.startsWith('$'))) return false;
    if (command.type !== 'add' && command.type !== 'set') return true;
    if (path === 'keeper.coin') return Math.abs(change(variables, command, path)) <= MOST_COINS;
    if (path === 'house.logs') return change(variables, command, path) <= 0;
    return true;
  }

  eventOn(Mvu.events.COMMAND_PARSED, (variables, commands) => {
    for (let i = commands.length - 1; i >= 0; i -= 1) {
      if (!allowed(variables, commands[i])) commands.splice(i, 1);
    }
  });
});
