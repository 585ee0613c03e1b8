/** The defects of other electors (`docs/known-defects.md`), each reproduced on an API server with a replica whose requests are scripted. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LockRequestError } from '@tenure/core'
import { type ApiServer, openApiServer } from './api-server.ts'
import { leasesPath, type LeaseSpec } from './lease-journal.ts'
import { Scenario } from './scenario.ts'
import { ScriptedReplica, type ScriptedReplicaOptions } from './scripted-replica.ts'
import { TcpProxy } from './tcp-proxy.ts'
import { withServer } from './kube-config-text.ts'
import { PATIENT, STEADY } from './timings.ts'

/** The validity of a renewal: the lease duration minus the tolerance of clock rates. */
const VALIDITY_MS = STEADY.leaseDurationMs * 0.95
/** The accuracy of timers in Node and in this test. */
const ROUNDING_MS = 5

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe.concurrent('Beside another holder, a leader', () => {
  it('B1: does not take itself for the leader after a renewal was refused with a conflict', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario)
    replica.script.isDeaf = true
    await scenario.seizeLease('thief')

    expect(await replica.saw('term-ending')).toMatchObject({ reason: 'superseded' })
    expect(replica.terms[0]?.isHeld()).toBe(false)
    expect((await scenario.storedLease())?.holderIdentity).toBe('thief')
  })

  it('B23: does not release a lease that is not its own any more', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario)
    replica.script.isDeaf = true
    await replica.saw('renewed', replica.events.length)
    await scenario.seizeLease('thief')
    await replica.manager.stop()

    expect(await scenario.storedLease()).toMatchObject({ holderIdentity: 'thief', leaseDurationSeconds: 3600 })
  })

  it('B26: notices that it lost the lease and was named again before it looked', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario, { timing: PATIENT })
    replica.script.isDeaf = true
    await scenario.seizeLease('thief')
    await scenario.seizeLease('alpha', 2)

    const first = replica.terms[0]
    expect(await replica.saw('term-ending')).toMatchObject({ reason: 'superseded', epoch: first?.epoch })
    replica.script.isDeaf = false
    const { epoch } = await replica.saw('term-began', replica.events.length)
    expect(epoch).toBeGreaterThan(first?.epoch ?? 0n)
  })
})

describe.concurrent('The validity of a term', () => {
  it('B2: counts from the send of a renewal, not from its answer', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario)
    replica.script.update = async (send, ...request) => {
      const lease = await send(...request)
      await sleep(400)
      return lease
    }
    // The watch may be faster than the answer.
    replica.script.isDeaf = true
    await replica.saw('renewed', replica.events.length)
    // Not every one falls into a new second, and only those that do prolong the term.
    for (let count = 0; count < 4; count++) {
      const { elapsedMs, remainingMs } = await replica.saw('renewed', replica.events.length)
      expect(elapsedMs).toBeGreaterThan(390)
      expect(remainingMs).toBeLessThanOrEqual(VALIDITY_MS - elapsedMs + ROUNDING_MS)
    }
  })

  it('B4: is not prolonged by reading that it is the holder', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario)
    await replica.saw('renewed', replica.events.length)
    replica.script.update = async () => Promise.reject(new LockRequestError('unknown-outcome', 'lost on the way'))
    const lastSentAt = replica.writes.at(-1)?.at ?? 0
    const { at, reason } = await replica.saw('term-ending')

    expect(reason).toBe('renew-deadline')
    expect(at - lastSentAt).toBeLessThan(VALIDITY_MS)
    expect((await scenario.storedLease())?.holderIdentity).toBe('alpha')
  })

  it('B13: outlives a request that hangs', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario)
    replica.script.update = (_send, _base, _record, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    await replica.saw('request-failed')
    replica.script.update = (send, ...request) => send(...request)
    const from = replica.events.length
    await replica.saw('renewed', from)

    expect(replica.all('term-ending')).toEqual([])
  })

  it('B15: is prolonged once in a second, however many renewals fall into it', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario, { timing: { retryPeriodMs: 300 } })
    for (let count = 0; count < 12; count++) {
      const { elapsedMs, remainingMs } = await replica.saw('renewed', replica.events.length)
      const last = replica.writes.at(-1)
      const first = replica.writes.find(({ record }) => wholeSecond(record) === wholeSecond(last?.record))
      // By what the records say: a busy machine may stop this process between a decision to write and the note of it.
      const sinceFirstMs =
        Date.parse(last?.record.renewTime ?? '') - Date.parse(first?.record.renewTime ?? '') + elapsedMs
      expect(remainingMs).toBeLessThanOrEqual(VALIDITY_MS - sinceFirstMs + ROUNDING_MS)
    }
  })

  it('B11: ends when renewals are forbidden (403), and another begins when they are allowed again', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario)
    const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${scenario.namespace}/rolebindings/alpha`
    await server.admin.expect(role, { method: 'DELETE' })

    expect(await replica.saw('term-ending')).toMatchObject({ reason: 'renew-deadline' })
    expect(replica.all('request-failed')[0]?.error).toMatchObject({ failure: 'forbidden' })
    await server.admin.request(`/apis/rbac.authorization.k8s.io/v1/namespaces/${scenario.namespace}/roles/alpha`, {
      method: 'DELETE',
    })
    await scenario.grant('alpha')
    await replica.saw('term-began', replica.events.length)
  })

  it('B12: outlives connections that are dead', async () => {
    await using scenario = await Scenario.open(server)
    await using proxy = await TcpProxy.start(server.url)
    await using replica = await leading(scenario, { through: proxy.url })
    // The watch may be faster than the answer, whose connection would not be used again.
    replica.script.isDeaf = true
    await replica.saw('renewed', replica.events.length)
    // Everything that is connected goes silent; what is new gets through.
    proxy.strand()
    const from = replica.events.length
    await replica.saw('request-failed', from)
    await replica.saw('renewed', replica.events.length)

    expect(replica.all('term-ending')).toEqual([])
  })
})

describe.concurrent('The end of a term', () => {
  it('B8: comes before its release: by then it is not held', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario)
    const heldAtRelease: (boolean | undefined)[] = []
    replica.script.update = (send, base, record, options) => {
      if (record.holderIdentity === '') heldAtRelease.push(replica.terms[0]?.isHeld())
      return send(base, record, options)
    }
    await replica.candidacy.stepDown()

    expect(heldAtRelease).toEqual([false])
  })

  it('B17: is one, however many step-downs ask for it at once', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario)
    const [one, other] = await Promise.all([replica.candidacy.stepDown(), replica.candidacy.stepDown()])

    expect(one).toMatchObject({ kind: 'stepped-down', outcome: 'released' })
    expect(other).toEqual(one)
    expect(replica.all('term-over')).toHaveLength(1)
    expect(replica.writes.filter(({ record }) => record.holderIdentity === '')).toHaveLength(1)
  })

  it('B22: comes at once when the lease is deleted; the next one has a higher epoch, and begins a lease duration later', async () => {
    await using scenario = await Scenario.open(server)
    await using replica = await leading(scenario)
    const first = replica.terms[0]?.epoch ?? 0n
    await server.admin.expect(pathOf(scenario), { method: 'DELETE' })

    const { at, reason } = await replica.saw('term-ending')
    expect(reason).toBe('lease-deleted')
    const began = await replica.saw('term-began', replica.events.length)
    expect(began.epoch).toBeGreaterThan(first)
    expect(began.at - at).toBeGreaterThan(STEADY.leaseDurationMs - ROUNDING_MS)
  })
})

describe.concurrent('A replica that does not lead', () => {
  it('B14: does not act because the API server cannot be found, and leads when it can', async () => {
    await using scenario = await Scenario.open(server)
    await using proxy = await TcpProxy.start(server.url)
    await proxy.cut()
    await using replica = await standing(scenario, { through: proxy.url })
    await replica.saw('request-failed')
    await sleep(1000)
    expect(replica.terms).toEqual([])
    await proxy.restore()

    await replica.saw('term-began')
  })

  it('B16: finds out that a write took effect whose answer was lost, and leads from its send', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.createLease('', 1)
    await using replica = await standing(scenario)
    replica.script.isDeaf = true
    replica.script.update = async (send, ...request) => {
      replica.script.update = (again, ...next) => again(...next)
      await send(...request)
      throw new LockRequestError('unknown-outcome', 'lost on the way')
    }
    const { epoch } = await replica.saw('term-began')

    const acquired = scenario.lease.entries.filter(({ holder }) => holder === 'alpha')
    expect(BigInt(acquired[0]?.version ?? 0)).toBe(epoch)
    expect(acquired.filter(({ spec }) => spec.acquireTime === spec.renewTime)).toHaveLength(1)
  })

  it('B19: learns of what changed while its watch was broken', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.createLease('first', 3600)
    await using proxy = await TcpProxy.start(server.url)
    await using replica = await standing(scenario, { through: proxy.url })
    await replica.saw('leader-observed')
    await proxy.cut()
    await scenario.seizeLease('second')
    await scenario.seizeLease('third')
    await proxy.restore()
    await replica.events.waitFor(
      'the third leader',
      (event) => event.kind === 'leader-observed' && event.identity === 'third',
    )

    expect(replica.terms).toEqual([])
  })

  it('B20: does not take a stale read for proof that a lease has expired', async () => {
    await using scenario = await Scenario.open(server)
    await using leader = await leading(scenario)
    await using replica = await standing(scenario, { identity: 'beta' })
    await replica.saw('leader-observed')
    // From now on it sees no more than the lease as it was once.
    replica.script.isDeaf = true
    replica.script.get = async (send, ...request) => {
      const old = await send(...request)
      replica.script.get = async () => old
      return old
    }
    await sleep(2 * STEADY.leaseDurationMs)

    expect(replica.terms).toEqual([])
    expect(leader.all('term-ending')).toEqual([])
    expect((await scenario.storedLease())?.holderIdentity).toBe('alpha')
  })

  it('B21: leaves a lease in its own name to its writer, until it has expired', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.createLease('alpha', 3)
    await using replica = await standing(scenario)
    const { at } = await replica.saw('leader-observed')
    const began = await replica.saw('term-began')

    expect(began.at - at).toBeGreaterThan(3000 - ROUNDING_MS)
  })

  it('B30: compares no stored time with its clock', async () => {
    await using scenario = await Scenario.open(server)
    await scenario.createLease('ghost', 2)
    await retime(scenario, '1999-12-31T23:59:59.999999Z')
    await using replica = await standing(scenario)
    const { at } = await replica.saw('leader-observed')
    await retime(scenario, '2199-12-31T23:59:59.999999Z')
    const began = await replica.saw('term-began')

    expect(began.at - at).toBeGreaterThan(2000 - ROUNDING_MS)
    expect(began.at - at).toBeLessThan(20_000)
  })
})

describe.concurrent('Settings', () => {
  it('B3: that leave tasks no time to stop before the lease is over are refused, before a request is made', async () => {
    await using scenario = await Scenario.open(server)
    await expect(standing(scenario, { timing: { renewDeadlineMs: 6500 } })).rejects.toThrow('`renewDeadlineMs`')

    expect(await server.requestsOf(scenario.userOf('alpha'))).toEqual([])
  })
})

interface Standing extends Partial<Pick<ScriptedReplicaOptions, 'identity' | 'timing'>> {
  /** The way to the server. @default its own */
  readonly through?: string
}

/** A replica that stands for the lease of the scenario. */
async function standing(
  scenario: Scenario,
  { identity = 'alpha', timing = {}, through = server.url }: Standing = {},
): Promise<ScriptedReplica> {
  await scenario.grant(identity)
  const kubeConfig = withServer(server.kubeConfig(scenario.userOf(identity)), through)
  return new ScriptedReplica(scenario, { identity, kubeConfig, timing })
}

/** The same, once it leads. */
async function leading(scenario: Scenario, options?: Standing): Promise<ScriptedReplica> {
  const replica = await standing(scenario, options)
  await replica.saw('term-began')
  return replica
}

function wholeSecond(record: { readonly renewTime: string | undefined } | undefined): string | undefined {
  return record?.renewTime?.slice(0, 19)
}

function pathOf({ namespace, leaseName }: Scenario): string {
  return `${leasesPath(namespace)}/${leaseName}`
}

/** Has an administrator set the times of the lease. */
async function retime(scenario: Scenario, time: string): Promise<void> {
  const lease = (await server.admin.expect(pathOf(scenario))) as { readonly spec: LeaseSpec }
  const spec = { ...lease.spec, acquireTime: time, renewTime: time }
  await server.admin.expect(pathOf(scenario), { method: 'PUT', body: { ...lease, spec } })
}
