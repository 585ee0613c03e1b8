import { type Peer, startPeer } from '@tenure/test-control-plane'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { monotonicAt, monotonicAtTime } from '../interop/wall-clock.ts'
import { type ApiServer, openRealApiServer } from '../scenarios/api-server.ts'
import { withServer } from '../scenarios/kube-config-text.ts'
import { type LeaseSpec, leasesPath } from '../scenarios/lease-journal.ts'
import type { ReplicaProcess } from '../scenarios/replica-process.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { TcpProxy } from '../scenarios/tcp-proxy.ts'
import { STEADY } from '../scenarios/timings.ts'

const MS = 1_000_000n
const LEASE_SECONDS = STEADY.leaseDurationMs / 1000
/** How exactly the wall clock in which the peer speaks can be placed on the monotonic clock. */
const CLOCK_ERROR_NS = MS
/** How long the news of an edit that frees the lease at once may take on a busy machine: less than a retry period. */
const NEWS_NS = 400n * MS

let server: ApiServer
beforeAll(async () => {
  server = await openRealApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

/** What a person changes in the spec of a lease; null removes a field. */
type Change = { readonly [K in keyof LeaseSpec]: LeaseSpec[K] | null }

/** A leader of Tenure behind a proxy and an elector of client-go that follows it, each in a process of its own. */
class MixedPair implements AsyncDisposable {
  readonly scenario: Scenario
  readonly proxy: TcpProxy
  readonly leader: ReplicaProcess
  readonly peer: Peer

  private constructor(scenario: Scenario, parts: { proxy: TcpProxy; leader: ReplicaProcess; peer: Peer }) {
    this.scenario = scenario
    this.proxy = parts.proxy
    this.leader = parts.leader
    this.peer = parts.peer
  }

  static async start(): Promise<MixedPair> {
    const scenario = await Scenario.open(server)
    const proxy = await TcpProxy.start(server.url)
    const credentials = withServer(server.kubeConfig(scenario.userOf('tenure')), proxy.url)
    const leader = await scenario.start('tenure', { credentials, timing: STEADY })
    await leader.saw('loop-began')
    await scenario.grant('client-go')
    const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = STEADY
    const peer = await startPeer({
      program: 'client-go-elector',
      kubeConfig: server.kubeConfig(scenario.userOf('client-go')),
      namespace: scenario.namespace,
      lease: scenario.leaseName,
      id: 'client-go',
      leaseDurationMs,
      renewDeadlineMs,
      retryPeriodMs,
    })
    await peer.waitFor('new-leader', { id: 'tenure' })
    return new MixedPair(scenario, { proxy, leader, peer })
  }

  /** Changes the lease as a person does. Returns when the server had not yet received it, in nanoseconds. */
  async edit(change: Change): Promise<bigint> {
    const path = `${leasesPath(this.scenario.namespace)}/${this.scenario.leaseName}`
    const stored = (await server.admin.expect(path)) as { readonly spec: LeaseSpec }
    const sentAt = process.hrtime.bigint()
    const body = { ...stored, spec: { ...stored.spec, ...change } }
    const { status } = await server.admin.request(path, { method: 'PUT', body })
    // A renewal came in between: once more.
    if (status === 409) return this.edit(change)
    expect(status).toBe(200)
    return sentAt
  }

  /** When the peer said that its work began. */
  async peerBegan(): Promise<bigint> {
    return monotonicAt((await this.peer.waitFor('started-leading')).t)
  }

  /** For how long both were at work, by what each of them said, in nanoseconds. */
  overlapNs(): bigint {
    const peerBegan = this.peer.events.find(({ event }) => event === 'started-leading')
    if (peerBegan === undefined) return 0n
    const from = monotonicAt(peerBegan.t)
    const ends = [...this.leader.all('loop-ended'), ...this.leader.all('acted')].map(({ at }) => at)
    return ends.reduce((most, at) => (at - from > most ? at - from : most), 0n)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peer.process.kill()
    await this.scenario[Symbol.asyncDispose]()
    await this.proxy[Symbol.asyncDispose]()
  }
}

describe.concurrent('beside an elector of client-go, a healthy leader of Tenure', () => {
  it('keeps its lease whatever duration somebody states, as often as that is done', async () => {
    await using pair = await MixedPair.start()
    const { lease } = pair.scenario
    for (const seconds of [1, 2, 1, 3600, 1, 2 ** 31 - 1, 1, 1, 1]) {
      const from = lease.length
      await pair.edit({ leaseDurationSeconds: seconds })
      const isOwn = ({ holder, spec }: (typeof lease.entries)[number]) =>
        holder === 'tenure' && spec.leaseDurationSeconds === LEASE_SECONDS
      await lease.waitFor('the edit', ({ spec }) => spec.leaseDurationSeconds === seconds, { from })
      await lease.waitFor('the duration of the leader', isOwn, { from: lease.length - 1 })
      await lease.waitFor('a later renewal', isOwn, { from: lease.length })
    }
    expect(lease.entries.map(({ holder }) => holder)).not.toContain('client-go')
    expect(pair.peer.events.map(({ event }) => event)).toEqual(['new-leader'])
    expect(pair.leader.all('loop-began')).toHaveLength(1)
    expect(pair.leader.all('loop-ended')).toEqual([])
  })

  it.each<[string, Change]>([
    ['the duration', { leaseDurationSeconds: null }],
    ['the holder', { holderIdentity: '' }],
  ])(
    'ends its term as soon as it sees that somebody has removed %s, which frees the lease at once',
    async (_, change) => {
      await using pair = await MixedPair.start()
      const from = pair.leader.events.length
      const editedAt = await pair.edit(change)
      const ended = await pair.leader.saw('loop-ended', { from })
      expect(ended.at - editedAt).toBeLessThan(NEWS_NS)
      const again = pair.leader.saw('loop-began', { from })
      again.catch(() => {})
      await Promise.race([again, pair.peerBegan()])
      expect(pair.overlapNs()).toBeLessThan(NEWS_NS)
    },
  )
})

describe.concurrent('beside an elector of client-go, a leader of Tenure that is cut off', () => {
  it.each([1, 2, 4])(
    'ends its work before the peer begins, and within the %i s that somebody stated when it saw that',
    async (seconds) => {
      await using pair = await MixedPair.start()
      pair.proxy.holdRequests()
      const from = pair.leader.events.length
      const editedAt = await pair.edit({ leaseDurationSeconds: seconds })
      const ended = await pair.leader.saw('loop-ended', { from })
      const began = await pair.peerBegan()
      expect(ended.at - editedAt).toBeLessThan(BigInt(seconds) * 1000n * MS)
      expect(began - editedAt).toBeGreaterThan(BigInt(seconds) * 1000n * MS)
      expect(pair.overlapNs()).toBeLessThanOrEqual(CLOCK_ERROR_NS)
      await pair.proxy.cut()
    },
  )

  it('before it sees the edit ends its work within its own lease, which is all that it can know of', async () => {
    await using pair = await MixedPair.start()
    const from = pair.leader.events.length
    await pair.proxy.cut()
    await pair.edit({ leaseDurationSeconds: 1 })
    const { spec } = await pair.scenario.lease.waitFor('the edit', (seen) => seen.spec.leaseDurationSeconds === 1)
    const ended = await pair.leader.saw('loop-ended', { from })
    expect(ended.at - monotonicAtTime(spec.renewTime ?? '')).toBeLessThan(BigInt(STEADY.leaseDurationMs) * MS)
  })
})
