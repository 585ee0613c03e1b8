/** Collects the values of a flag that may be given several times. */
export function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}
