/**
 * The fields of a lease that electors agree on, exactly as they are stored.
 *
 * The names are those of `coordination.k8s.io/v1` `LeaseSpec`. Times are raw strings. They are compared as strings to detect a change,
 * and never with a clock. A field that another client omitted, or set to a value of another type, is `undefined`.
 */
export interface LeaseRecord {
  /** The identity of the holder; empty if there is none. */
  readonly holderIdentity: string
  /** How long other replicas must not acquire the lease after they last saw it change. Whole seconds. */
  readonly leaseDurationSeconds: number | undefined
  /** When the holder acquired the lease, by the holder's wall clock. RFC 3339. */
  readonly acquireTime: string | undefined
  /** When the holder last renewed the lease, by the holder's wall clock. RFC 3339. */
  readonly renewTime: string | undefined
  /** How often the holder changed. */
  readonly leaseTransitions: number | undefined
  /** Who is to lead in place of the holder, by the word of a coordinator. Only locks that have one read and write it. */
  readonly preferredHolder?: string | undefined
  /**
   * Annotations whose key starts with `tenure.dev/`. A write replaces all stored annotations with that prefix. The lock keeps all others.
   */
  readonly annotations: Readonly<Record<string, string>>
}

/** The prefix of every annotation that belongs to Tenure. */
export const ANNOTATION_PREFIX = 'tenure.dev/'

/** The annotation that keeps epochs growing when the versions of the store do not: after a restore, or in another store. */
const LEAST_EPOCH = `${ANNOTATION_PREFIX}least-epoch`

/** Other systems store epochs as signed 64-bit numbers. A greater number in a record is malformed. */
const GREATEST_LEAST_EPOCH = 2n ** 62n

/** The least epoch of a term that this record begins; 0 if the record has none, or a malformed one. */
export function leastEpochOf({ annotations }: LeaseRecord): bigint {
  const text = annotations[LEAST_EPOCH]
  if (text === undefined || !/^[1-9]\d{0,18}$/.test(text)) return 0n
  const least = BigInt(text)
  return least > GREATEST_LEAST_EPOCH ? 0n : least
}

/** The record with this least epoch; without one if it is 0. */
export function withLeastEpoch(record: LeaseRecord, least: bigint): LeaseRecord {
  const { [LEAST_EPOCH]: _, ...annotations } = record.annotations
  return { ...record, annotations: least === 0n ? annotations : { ...annotations, [LEAST_EPOCH]: String(least) } }
}

/** The record without the annotations that only speed up a handover. */
export function withoutHints(record: LeaseRecord): LeaseRecord {
  return withLeastEpoch({ ...record, annotations: {} }, leastEpochOf(record))
}

/**
 * Formats a wall-clock time as a Kubernetes MicroTime: RFC 3339 in UTC with exactly six fractional digits. The API server
 * refuses any other number of digits.
 */
export function formatMicroTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000Z')
}
