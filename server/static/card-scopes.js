// Card scopes from what `GET /host/playthroughs/{id}` answers (spec/mvu.md §7.4). Each function gives null where the
// scope would not hold; the server decides once more.

/** The opening of a session that has not begun: writable, until the first turn. */
export function initialScope(playthrough, { sessionId, characterId }) {
  if (!playthrough || playthrough.rootSessionId !== sessionId || playthrough.characterId !== characterId) return null;
  if (playthrough.timeline.length > 0) return null;
  return { mode: "initial", playthroughId: playthrough.playthroughId, sessionId, characterId };
}

/** The opening as it was shown: readable for ever, for the root session and every session of a saved reply. */
export function greetingScope(playthrough, { sessionId, characterId }) {
  if (!playthrough || playthrough.characterId !== characterId) return null;
  const members = playthrough.timeline.flatMap((node) => node.variants.map((variant) => variant.sessionId));
  if (playthrough.rootSessionId !== sessionId && !members.includes(sessionId)) return null;
  return { mode: "greeting", playthroughId: playthrough.playthroughId, sessionId, characterId };
}

/** One saved reply; `messageScope(playthrough)` is the reply that the timeline stands on. */
export function messageScope(playthrough, node = head(playthrough), variantId = node?.active) {
  const variant = node?.variants.find((item) => item.variantId === variantId);
  if (!variant) return null;
  return {
    playthroughId: playthrough.playthroughId,
    sessionId: variant.sessionId,
    nodeId: node.nodeId,
    variantId: variant.variantId,
    endEventId: variant.endEventId,
  };
}

/** The last node of the active path, null before the first reply. */
export function head(playthrough) {
  return playthrough?.timeline.filter((node) => node.active !== null && node.active !== undefined).at(-1) ?? null;
}
