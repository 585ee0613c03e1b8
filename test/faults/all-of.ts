/** Resolves with all results. Rejects with the first failure, but only after everything has ended. */
export async function allOf<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}
