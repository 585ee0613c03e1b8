import { type LeaseRecord, TenureError } from '@tenure/core'
import {
  readAnswer,
  readOffer,
  readRequestAnswer,
  type RequestOutcome,
  type StepDownRequest,
  withRequest,
} from '@tenure/core/internal'
import type { JsonObject } from '@tenure/kubernetes/internal'
import { randomUUID } from 'node:crypto'
import type { Cluster } from '../cluster/cluster.ts'
import { LEASES, readLease, type StoredLease, storedLease } from '../cluster/leases.ts'

const REQUEST = 'tenure.dev/step-down-request'

/** Nobody can be asked to step down. */
class NoLeaderError extends TenureError {
  override readonly code = 'ERR_TENURE_NO_LEADER'
  override readonly name = 'NoLeaderError'
}

/** A request that was written into a lease. */
export interface WrittenRequest extends StepDownRequest {
  readonly namespace: string
  readonly lease: string
  /** The holder that is to step down, and when it acquired the lease. */
  readonly holder: string
  readonly acquireTime: string | undefined
}

/** How far a request is, as the lease shows it. */
export type RequestState =
  /** The leader has not answered. */
  | { readonly kind: 'waiting' }
  /** The leader has offered the lease to the named replica and waits for its answer. */
  | { readonly kind: 'offered' }
  /** The leader leads on, because the named replica did not answer it. */
  | { readonly kind: 'declined' }
  /** The leader has begun to drain. */
  | { readonly kind: 'draining' }
  /** The term has ended. `holder` is empty while nobody leads. */
  | { readonly kind: 'ended'; readonly how: 'released' | 'transferred' | 'otherwise'; readonly holder: string }

/** Asks the holder of a lease to step down. @throws NoLeaderError if nobody holds the lease, or the holder changes meanwhile */
export async function requestStepDown(cluster: Cluster, found: StoredLease, to?: string): Promise<WrittenRequest> {
  const { namespace, name, lease } = found
  const { holderIdentity: holder, acquireTime } = lease.record
  if (holder === '') throw new NoLeaderError(`Nobody holds the lease ${namespace}/${name}, so nobody can step down.`)
  if (acquireTime === undefined)
    throw new NoLeaderError(`The lease ${namespace}/${name} states no acquire time, so a request cannot name its term.`)
  const id = randomUUID()
  const text = withRequest(lease.record, { id, to }).annotations[REQUEST]
  const patched = await cluster.patch(pathOf(namespace, name), annotation(text))
  const now = storedLease(patched)?.lease.record
  if (now?.holderIdentity !== holder || now.acquireTime !== acquireTime)
    throw new NoLeaderError(
      `The leader of ${namespace}/${name} changed from ${holder} to ${now?.holderIdentity || 'nobody'} meanwhile, so the request is void.`,
    )
  return { id, to, namespace, lease: name, holder, acquireTime }
}

/** Withdraws a request that nobody answered, so that it is not obeyed later. */
export async function withdraw(cluster: Cluster, { namespace, lease }: WrittenRequest): Promise<void> {
  await cluster.patch(pathOf(namespace, lease), annotation(null))
}

/** Reads how far a request is. */
export async function stateOf(cluster: Cluster, request: WrittenRequest): Promise<RequestState> {
  const { lease } = await readLease(cluster, request.lease)
  return requestState(lease.record, request)
}

/** How far a request is by this record. */
function requestState(record: LeaseRecord, { id, to, holder, acquireTime }: WrittenRequest): RequestState {
  const answer = readRequestAnswer(record)
  const outcome = answer?.id === id ? answer.outcome : undefined
  if (record.holderIdentity === holder && record.acquireTime === acquireTime)
    return { kind: stageOf(record, to, outcome) }
  const how = outcome === 'released' || outcome === 'transferred' ? outcome : 'otherwise'
  return { kind: 'ended', how, holder: record.holderIdentity }
}

function stageOf(
  record: LeaseRecord,
  to: string | undefined,
  outcome: RequestOutcome | undefined,
): 'waiting' | 'offered' | 'declined' | 'draining' {
  if (outcome !== undefined) return outcome === 'declined' ? 'declined' : 'draining'
  // The renewal that says so may be one retry period later than the answer of the named replica.
  if (to !== undefined && offerOfDrain(record)?.to === to) return 'draining'
  return to !== undefined && readOffer(record)?.to === to ? 'offered' : 'waiting'
}

/** The offer of a leader whose term ends. A leader that offers the lease to a replica by name may only ask whether it is there. */
export function offerOfDrain(record: LeaseRecord): ReturnType<typeof readOffer> {
  const offer = readOffer(record)
  if (offer?.to === undefined || readAnswer(record)?.identity === offer.to) return offer
  return readRequestAnswer(record)?.outcome === 'draining' ? offer : undefined
}

function pathOf(namespace: string, name: string) {
  return { ...LEASES, namespace, name }
}

function annotation(text: string | null | undefined): JsonObject {
  return { metadata: { annotations: { [REQUEST]: text } } }
}
