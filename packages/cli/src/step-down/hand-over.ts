import type { Cluster } from '../cluster/cluster.ts'
import type { StoredLease } from '../cluster/leases.ts'
import { durationText } from '../status/duration.ts'
import { type Invocation, pause, type Terminal } from '../terminal.ts'
import { type RequestState, requestStepDown, stateOf, withdraw, type WrittenRequest } from './request.ts'

/** How often the lease is read. A poll needs no right to watch. */
const POLL_MS = 200

/** How long a leader has to answer: it may learn of the request at its next renewal. */
const ANSWER_MS = 15_000

/** What to ask of a leader. */
export interface HandOver {
  /** The replica that must get the lease; undefined for any. */
  readonly to?: string | undefined
  /** How long to wait for the next leader. */
  readonly timeoutMs: number
  /** Whether to return as soon as the request is written. */
  readonly isDetached: boolean
}

/** A request and when it was written. */
export interface Waiting {
  readonly request: WrittenRequest
  readonly since: number
  readonly timeoutMs: number
}

/** Asks the leader of a lease to hand over, waits, and says what came of it. The exit code is 0 if another replica leads. */
export async function handOver(
  cluster: Cluster,
  found: StoredLease,
  order: HandOver,
  invocation: Invocation,
): Promise<void> {
  const { terminal } = invocation
  const since = terminal.clock.now()
  const request = await requestStepDown(cluster, found, order.to)
  const { namespace, lease, holder, to } = request
  terminal.out(`Asked ${holder} to hand ${namespace}/${lease} over${to === undefined ? '' : ` to ${to}`}.\n`)
  if (order.isDetached) return
  const waiting: Waiting = { request, since, timeoutMs: order.timeoutMs }
  const ended = await untilEnded(cluster, waiting, terminal)
  if (ended.kind !== 'ended') invocation.exitCode = await unanswered(cluster, ended, request, terminal)
  else invocation.exitCode = await succeeded(cluster, ended, waiting, terminal)
}

/** Waits until the term has ended or the leader declines. Returns the last state if time runs out. */
async function untilEnded(cluster: Cluster, waiting: Waiting, terminal: Terminal): Promise<RequestState> {
  const { request, since, timeoutMs } = waiting
  let last: RequestState['kind'] = 'waiting'
  for (;;) {
    const state = await stateOf(cluster, request)
    const waitedMs = terminal.clock.now() - since
    if (state.kind === 'ended' || state.kind === 'declined') return state
    if (state.kind === 'draining' && last !== 'draining') terminal.out(`${request.holder} drains its term.\n`)
    last = state.kind
    if (waitedMs >= timeoutMs || (state.kind === 'waiting' && waitedMs >= Math.min(timeoutMs, ANSWER_MS))) return state
    await pause(terminal, POLL_MS, terminal.interrupted)
    terminal.interrupted.throwIfAborted()
  }
}

async function unanswered(
  cluster: Cluster,
  { kind }: RequestState,
  request: WrittenRequest,
  { err }: Terminal,
): Promise<number> {
  const { holder, namespace, lease, to } = request
  if (kind === 'declined') {
    err(`${holder} leads on: ${to} did not answer its offer of ${namespace}/${lease}.\n`)
    return 1
  }
  if (kind === 'offered') {
    await withdraw(cluster, request)
    err(`${to} has not yet answered the offer of ${holder}, so the request is withdrawn, and ${holder} leads on.\n`)
    return 1
  }
  if (kind === 'draining') {
    err(
      `${holder} still drains. It hands ${namespace}/${lease} over when its tasks have ended. ` +
        `Run \`tenure explain ${lease} -n ${namespace}\` to see what it waits for.\n`,
    )
    return 1
  }
  await withdraw(cluster, request)
  err(
    `${holder} did not answer, so the request is withdrawn. Only leaders of Tenure that know requests obey them; ` +
      'a leader that is cut off from the API server cannot.\n',
  )
  return 1
}

/** Waits for a term to end and for the next leader. Returns its identity; empty if there is none in time. */
export async function successorOf(
  cluster: Cluster,
  { request, since, timeoutMs }: Waiting,
  terminal: Terminal,
): Promise<string> {
  for (;;) {
    const state = await stateOf(cluster, request)
    if (state.kind === 'ended' && state.holder !== '') return state.holder
    if (terminal.clock.now() - since >= timeoutMs) return ''
    await pause(terminal, POLL_MS, terminal.interrupted)
    terminal.interrupted.throwIfAborted()
  }
}

/** Waits for the next leader, and says who it is. */
async function succeeded(
  cluster: Cluster,
  ended: Extract<RequestState, { kind: 'ended' }>,
  { request, since, timeoutMs }: Waiting,
  terminal: Terminal,
): Promise<number> {
  const { namespace, lease, holder, to } = request
  const next = ended.holder === '' ? await successorOf(cluster, { request, since, timeoutMs }, terminal) : ended.holder
  const tookMs = terminal.clock.now() - since
  const what = `${holder} ${ENDINGS[ended.how]} ${namespace}/${lease}`
  if (next === '') {
    terminal.err(`${what}, but nobody has acquired it within ${durationText(tookMs)}.\n`)
    return 1
  }
  if (to !== undefined && next !== to) {
    terminal.err(`${what}, but ${next} leads: ${to} did not answer in time.\n`)
    return 1
  }
  terminal.out(`${what}, and ${next} leads. The handover took ${durationText(tookMs)}.\n`)
  return ended.how === 'otherwise' ? 1 : 0
}

const ENDINGS = {
  released: 'released',
  transferred: 'transferred',
  otherwise: 'lost, without a release,',
} as const
