/** Resolves with all results when everything has ended. @throws what failed first, but only then: nothing is left running. */
export async function allOf<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}
