import { CoreV1Api } from '@kubernetes/client-node'
import { systemClock } from '@tenure/core/internal'
import { describe, expect, test } from 'vitest'
import { gated } from '../src/gate/gated.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { LeaseLock } from '../src/locks/lease/lease-lock.ts'
import { record } from './support/lease-record.ts'
import { leaseObject } from './support/lease-server.ts'
import { answer, LoopbackServer } from './support/loopback-server.ts'

const SLOW_REQUESTS = 1000

/** A server that answers writes of the lease at once, and everything else only on command. */
async function slowServer() {
  const held: (() => void)[] = []
  let version = 10
  const server = await LoopbackServer.start((message, response) => {
    if (message.url?.includes('/leases') === true) return answer(response, 200, leaseObject(++version, 'a'))
    held.push(() => answer(response, 200, { kind: 'ConfigMapList', metadata: {}, items: [] }))
  })
  return {
    server,
    held,
    kubeConfig: () => {
      const kubeConfig = server.kubeConfig()
      const cluster = kubeConfig.getCurrentCluster()
      if (cluster !== null) Object.assign(cluster, { skipTLSVerify: true })
      return kubeConfig
    },
  }
}

const UNABORTED = { signal: new AbortController().signal }

describe('renewals', () => {
  test.each(['a client of the program', 'a gated client of the term'])(
    'are not delayed by a thousand slow requests of %s to the same server with the same kubeconfig',
    async (kind) => {
      const { server, held, kubeConfig } = await slowServer()
      await using _ = server
      const shared = kubeConfig()
      const lock = new LeaseLock({ kubeConfig: shared, name: 'janitor', namespace: 'ops' })
      const term = { epoch: 7n, isHeld: () => true, gateSignal: new AbortController().signal }
      const api = (kind === 'a client of the program' ? shared : gated(term, shared)).makeApiClient(CoreV1Api)
      let lease = await lock.create(record, UNABORTED)
      const slow = Array.from({ length: SLOW_REQUESTS }, () => api.listNamespacedConfigMap({ namespace: 'ops' }))
      let answered = 0
      for (const request of slow) void request.then(() => answered++)
      await server.untilRequests(SLOW_REQUESTS + 1)

      for (let leaseTransitions = 1; leaseTransitions <= 20; leaseTransitions++) {
        lease = await lock.update(lease, { ...record, leaseTransitions }, { signal: AbortSignal.timeout(2500) })
      }

      expect([held.length, answered]).toEqual([SLOW_REQUESTS, 0])
      for (const release of held) release()
      await Promise.all(slow)
      await lock.close()
    },
  )

  test('go on between the pieces of work that keep the event loop busy', async () => {
    const { server, kubeConfig } = await slowServer()
    await using _ = server
    const lock = new LeaseLock({ kubeConfig: kubeConfig(), name: 'janitor', namespace: 'ops' })
    let lease = await lock.create(record, UNABORTED)
    let pieces = 0
    let busy = true
    const work = (): void => {
      const until = systemClock.now() + 20
      while (systemClock.now() < until);
      pieces++
      if (busy) setImmediate(work)
    }
    work()
    const before = pieces
    for (let leaseTransitions = 1; leaseTransitions <= 10; leaseTransitions++) {
      lease = await lock.update(lease, { ...record, leaseTransitions }, { signal: AbortSignal.timeout(2500) })
    }
    // Each renewal takes as many turns of the loop as a request does, however full those are.
    expect(pieces - before).toBeLessThan(10 * 20)
    busy = false
    await lock.close()
  })

  test('and the watch say that they are of an election', async () => {
    const { server, kubeConfig } = await slowServer()
    await using _ = server
    const client = new LeaseClient({ kubeConfig: kubeConfig() })
    const lock = new LeaseLock({ client, name: 'janitor', namespace: 'ops' })
    await lock.create(record, UNABORTED)
    lock.watch({ changed: () => {}, up: () => {}, down: () => {} })
    await server.untilRequests(2)
    await client.close()
    const agents = server.requests.map(({ message }) => message.headers['user-agent'])
    expect(agents).toHaveLength(2)
    for (const agent of agents) expect(agent).toMatch(/^tenure\/\S+ leader-election$/)
  })
})
