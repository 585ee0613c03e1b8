/** The earliest of the defined times. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const set = times.filter((time) => time !== undefined)
  return set.length === 0 ? undefined : Math.min(...set)
}
