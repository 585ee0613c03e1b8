/** Formats a wall-clock time as a Kubernetes Time: RFC 3339 in UTC, whole seconds. */
export function formatTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`
}
