import type { Access } from '@tenure/test-control-plane'
import { RawLeaseClient } from './raw-lease.ts'

/**
 * Two bare clients that hand a lease back and forth: the minimum duration of a handover on this API server.
 *
 * @param onlookers further clients of this process that watch the lease
 */
export async function createFloor(access: Access, namespace: string, name = 'floor', onlookers = 0): Promise<Floor> {
  const [a, b] = [new RawLeaseClient(access, namespace), new RawLeaseClient(access, namespace)]
  const created = await a.create(name)
  let lease = await a.put(created, 'a')
  let onReleased = (_lease: typeof lease) => {}
  await b.watch(lease, (seen) => {
    if (seen.spec.holderIdentity === '') onReleased(seen)
  })
  const others = Array.from({ length: onlookers }, () => new RawLeaseClient(access, namespace))
  await Promise.all(others.map((other) => other.watch(lease, () => {})))
  return {
    async round() {
      const { promise, resolve, reject } = Promise.withResolvers<typeof lease>()
      onReleased = (seen) => void b.put(seen, 'b').then(resolve, reject)
      const start = performance.now()
      void a.put(lease, '').catch(reject)
      lease = await promise
      const elapsed = performance.now() - start
      lease = await a.put(lease, 'a')
      return elapsed
    },
    close() {
      for (const client of [a, b, ...others]) client.close()
    },
  }
}

/** See {@link createFloor}. */
interface Floor {
  /** Milliseconds from the release to the answer to the acquiring write. */
  round(): Promise<number>
  close(): void
}
