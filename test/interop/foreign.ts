import { type PeerOptions, startPeer } from '@tenure/test-control-plane'
import { saidAt, type MixedTiming } from './mixed-lease.ts'
import { Poller, type PollerKind } from './poller.ts'
import { monotonicAt } from './wall-clock.ts'

/** The electors of others that stand for a lease of Tenure. */
export type ForeignKind = PeerOptions['program'] | PollerKind

/** Where and how an elector of others stands for election. */
export interface ForeignOptions {
  readonly kind: ForeignKind
  readonly kubeConfig: string
  readonly namespace: string
  readonly lease: string
  readonly id: string
  readonly timing: MixedTiming
}

/** An elector of others. All times are nanoseconds of the monotonic clock. */
export interface Foreign extends AsyncDisposable {
  readonly id: string
  readonly kind: ForeignKind
  /** Fulfils when its work begins. */
  began(): Promise<bigint>
  /** Whether its work has ended without {@link end}. */
  hasLost(): boolean
  /** Stops or kills it. */
  end(how: 'stop' | 'kill'): Promise<ForeignEnd>
}

/** How an elector of others ended. */
export interface ForeignEnd {
  readonly at: bigint
  /** Whether it ended its work first. client-go does not, and does not release, if it is stopped in the middle of a renewal. */
  readonly isOrderly: boolean
}

/** Starts an elector of others. */
export async function startForeign(options: ForeignOptions): Promise<Foreign> {
  const { kind } = options
  return kind === 'fabric8' || kind === 'python' ? startPoller({ ...options, kind }) : startGo({ ...options, kind })
}

async function startPoller(options: ForeignOptions & { readonly kind: PollerKind }): Promise<Foreign> {
  const poller = await Poller.start(options)
  return {
    id: options.id,
    kind: options.kind,
    began: () => poller.began,
    hasLost: () => poller.stoppedAt !== undefined,
    end: async (how) => {
      await poller[how]()
      return { at: poller.stoppedAt ?? process.hrtime.bigint(), isOrderly: how === 'stop' }
    },
    [Symbol.asyncDispose]: () => poller[Symbol.asyncDispose](),
  }
}

async function startGo({
  kind,
  timing,
  ...place
}: ForeignOptions & { kind: PeerOptions['program'] }): Promise<Foreign> {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = timing
  const durations = { leaseDurationMs, renewDeadlineMs, retryPeriodMs }
  const peer = await startPeer({ program: kind, ...place, release: true, ...durations })
  const stopped = () => peer.events.find(({ event }) => event === 'stopped-leading')
  return {
    id: place.id,
    kind,
    began: () => saidAt({ id: place.id, peer }, 'started-leading'),
    hasLost: () => stopped() !== undefined || !peer.process.isRunning,
    end: async (how) => {
      await (how === 'stop' ? peer.terminate() : peer.process.kill())
      const exitedAt = process.hrtime.bigint()
      const said = stopped()
      return { at: said === undefined ? exitedAt : monotonicAt(said.t), isOrderly: said !== undefined }
    },
    [Symbol.asyncDispose]: async () => void (await peer.process.kill()),
  }
}
