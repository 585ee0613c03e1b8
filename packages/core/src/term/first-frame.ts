/** The first frame of a stack outside of this package, as `file:line:column`. */
export function firstFrame(stack: string | undefined): string {
  const frames = (stack ?? '').split('\n').slice(1)
  const frame = frames.find((line) => !OWN_FRAME.test(line)) ?? frames[0]
  return frame?.match(/\(?((?:file:|\/|[A-Za-z]:)[^()]+:\d+:\d+)\)?$/)?.[1] ?? 'unknown'
}

/** Frames of this package, from source and published, of the leak detector that may wrap it, and of Node. */
const OWN_FRAME =
  /[\\/]core[\\/](?:src[\\/](?:term|controller|candidacy)[\\/]|dist[\\/]chunks[\\/]shared\.js)|[\\/]@tenure[\\/]core[\\/]dist[\\/]|[\\/]testing[\\/](?:src|dist)[\\/]leaks[\\/]|^\s+at (?:async )?node:/
