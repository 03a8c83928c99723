// Several clients write one state by compare-and-set while answers and requests are lost on the way; prints what each
// client was told. Run by test_linear.py with a JSON object on the command line.
import { createMvuCardBinding, createMvuClient, createWriteGrantRegistry, executionPackage } from "../../server/static/bridge.js";

const { base, scope, clients, writes, seed } = JSON.parse(process.argv[2]);

function dice(start) {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A network that loses one request in ten and one answer in seven, for writes only. */
function lossy(random, lost) {
  return async (url, options) => {
    const isWrite = String(url).endsWith("/mvu/card-write");
    if (isWrite && random() < 0.1) { lost.requests += 1; throw new TypeError("request lost"); }
    const response = await fetch(url, options);
    if (isWrite && random() < 1 / 7) { lost.answers += 1; await response.arrayBuffer(); throw new TypeError("answer lost"); }
    return response;
  };
}

async function play(index) {
  const lost = { requests: 0, answers: 0 };
  const options = { baseUrl: `${base}/api/v1`, requestTokenUrl: `${base}/pmp-dsh-tavern/api/request-token` };
  const client = createMvuClient({ ...options, fetch: lossy(dice(seed + index), lost) });
  const execution = createWriteGrantRegistry({ client }).open(await executionPackage({ scope, html: `client ${index}` }));
  const binding = await createMvuCardBinding({ client, scope, writeGrant: execution, push: false });
  const acknowledged = [];
  let conflicts = 0;
  let unknown = 0;
  while (acknowledged.length < writes) {
    try {
      const { result } = await binding.writeOperation("patch", [{ op: "delta", path: "/keeper/coin", value: 1 }]);
      acknowledged.push([result.revision, result.variables.stat_data.keeper.coin]);
    } catch (error) {
      if (error.code === "REVISION_CONFLICT") conflicts += 1;
      else if (error.isTransport) unknown += 1; // every retry was lost: nobody knows, the state will tell
      else throw error;
      await binding.refresh();
    }
  }
  await binding.dispose();
  await execution.dispose();
  return { acknowledged, conflicts, unknown, lost };
}

const told = await Promise.all(Array.from({ length: clients }, (_, index) => play(index)));
console.log(JSON.stringify(told));
