/** Milliseconds for people: a digit after the point where that means something. */
export function formatMs(ms: number): string {
  return `${ms.toFixed(ms < 100 ? 1 : 0)} ms`
}
