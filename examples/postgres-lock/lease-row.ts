import { ANNOTATION_PREFIX, type LeaseRecord, type PresentLease } from '@tenure/core'

type Json = Readonly<Record<string, unknown>>

/** A row of `tenure_leases`; the version comes as text, because it may be greater than any number of JavaScript. */
export interface LeaseRow {
  readonly version: string
  readonly record: Json
}

/** Reads a row. Fields of the wrong type count as missing. */
export function leaseOf({ version, record }: LeaseRow): PresentLease {
  const text = (key: string) => (typeof record[key] === 'string' ? record[key] : undefined)
  const integer = (key: string) => (Number.isSafeInteger(record[key]) ? Number(record[key]) : undefined)
  return {
    kind: 'present',
    version: BigInt(version),
    record: {
      holderIdentity: text('holderIdentity') ?? '',
      leaseDurationSeconds: integer('leaseDurationSeconds'),
      acquireTime: text('acquireTime'),
      renewTime: text('renewTime'),
      leaseTransitions: integer('leaseTransitions'),
      annotations: annotationsOf(record, true),
    },
    deleting: false,
    native: record,
  }
}

/** The content of a row that replaces `stored`: everything in it that Tenure does not know is kept. */
export function rowContent(stored: Json, { annotations, ...record }: LeaseRecord): Json {
  return { ...stored, ...record, annotations: { ...annotationsOf(stored, false), ...annotations } }
}

function annotationsOf({ annotations }: Json, ours: boolean): Record<string, string> {
  if (typeof annotations !== 'object' || annotations === null) return {}
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => key.startsWith(ANNOTATION_PREFIX) === ours))
}
