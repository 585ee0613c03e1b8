import { ANNOTATION_PREFIX, type LeaseRecord } from '../../lock/lease-record.ts'

/*
 * What a term leaves to the next ones: a value of each controller, and how far it has written. An annotation carries it, in the write that
 * releases or transfers the lease. So no write is added, and a former leader cannot change it: its write names an old version.
 *
 * 1. Values stay until a later term of the same controller replaces them. Each names its epoch.
 * 2. Versions count only for the term that follows immediately. They name the holder and the acquire time of the record that carries them.
 *    An acquisition keeps them only if the lease was released with them.
 */
const BEQUEST = `${ANNOTATION_PREFIX}bequest`

/** Stands for the collections that are not named. It is there, with no version, if earlier terms may have written them. */
export const OTHER_COLLECTIONS = '*'

/** The most bytes of JSON that the versions of one term may take. */
const MAX_VERSIONS_BYTES = 2048

/** The most bytes of JSON that all values of a lease may take. Kubernetes allows 256 KiB for all annotations of an object. */
export const MAX_VALUES_BYTES = 32_768

/** What a term leaves. */
export interface Bequest {
  readonly epoch: bigint
  /** The values that its controllers left, as JSON, by controller. */
  readonly values: ReadonlyMap<string, string>
  /** The greatest version that it or an earlier term wrote, by collection; empty if a version is not known. */
  readonly versions: ReadonlyMap<string, string>
}

/** What earlier terms left, as the next term sees it. */
export interface Legacy {
  /** The value that a term left to each controller, with the epoch of that term. */
  readonly values: ReadonlyMap<string, { readonly epoch: bigint; readonly value: unknown }>
  /** The versions that the terms before wrote; undefined if nothing about them is known. */
  readonly versions: ReadonlyMap<string, string> | undefined
}

/** What earlier terms left to the holder of this record. */
export function readLegacy(record: LeaseRecord): Legacy {
  const note = readNote(record)
  const values = Object.entries(note.values).map(([controller, { epoch, value }]) => {
    return [controller, { epoch: BigInt(epoch), value }] as const
  })
  const versions = isBound(note, record) ? note.versions : undefined
  return { values: new Map(values), versions: versions && new Map(Object.entries(versions)) }
}

/** The record of a new term with what earlier terms left. `previous` is the stored record. */
export function withLegacy(record: LeaseRecord, previous: LeaseRecord): LeaseRecord {
  const note = readNote(previous)
  const isReleased = previous.holderIdentity === ''
  return withNote(record, {
    values: note.values,
    versions: isReleased && isBound(note, previous) ? note.versions : undefined,
  })
}

/** The record that ends a term with what it leaves. Without a bequest, no term began, and what earlier terms left stays. */
export function withBequest(record: LeaseRecord, held: LeaseRecord, bequest: Bequest | undefined): LeaseRecord {
  const note = readNote(held)
  if (bequest === undefined)
    return withNote(record, { ...note, versions: isBound(note, held) ? note.versions : undefined })
  const { epoch, values, versions } = bequest
  const own = Array.from(values, ([controller, json]): [string, Value] => {
    return [controller, { epoch: String(epoch), value: JSON.parse(json) as unknown }]
  })
  const written = Object.fromEntries(versions)
  return withNote(record, {
    values: latest({ ...note.values, ...Object.fromEntries(own) }),
    versions: bytesOf(written) <= MAX_VERSIONS_BYTES ? written : undefined,
  })
}

/** The values of the latest terms, as many as fit. */
function latest(values: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  const newestFirst = Object.entries(values).toSorted(([, a], [, b]) => Number(BigInt(b.epoch) - BigInt(a.epoch)))
  let bytes = 0
  return Object.fromEntries(newestFirst.filter(([, { value }]) => (bytes += bytesOf(value)) <= MAX_VALUES_BYTES))
}

/** The length of the JSON of a value in bytes of UTF-8. */
function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}

interface Value {
  readonly epoch: string
  readonly value: unknown
}

interface Note {
  /** The holder and the acquire time of the record for which the versions count. */
  readonly holder?: unknown
  readonly of?: unknown
  readonly values: Readonly<Record<string, Value>>
  readonly versions: Readonly<Record<string, string>> | undefined
}

function isBound({ holder, of }: Note, { holderIdentity, acquireTime }: LeaseRecord): boolean {
  return holder === holderIdentity && of === acquireTime && acquireTime !== undefined
}

function withNote(record: LeaseRecord, { values, versions }: Note): LeaseRecord {
  const { [BEQUEST]: _, ...annotations } = record.annotations
  if (versions === undefined && Object.keys(values).length === 0) return { ...record, annotations }
  const { holderIdentity: holder, acquireTime: of } = record
  return { ...record, annotations: { ...annotations, [BEQUEST]: JSON.stringify({ holder, of, values, versions }) } }
}

/** Any client that may write the lease can write this annotation. What is malformed is not there. */
function readNote({ annotations }: LeaseRecord): Note {
  const { holder, of, values, versions } = parseObject(annotations[BEQUEST] ?? '')
  return {
    holder,
    of,
    values: isRecordOf(values, isValue) ? values : {},
    versions: isRecordOf(versions, isVersion) ? versions : undefined,
  }
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function isRecordOf<T>(value: unknown, isEntry: (entry: unknown) => entry is T): value is Readonly<Record<string, T>> {
  return isObject(value) && Object.values(value).every(isEntry)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isValue(entry: unknown): entry is Value {
  return isObject(entry) && 'value' in entry && typeof entry['epoch'] === 'string' && /^\d{1,19}$/.test(entry['epoch'])
}

/** A resource version as the next term compares it, or none: the term has written, and does not know which version. */
function isVersion(entry: unknown): entry is string {
  return typeof entry === 'string' && /^\d{0,20}$/.test(entry)
}
