import { isDeepStrictEqual } from 'node:util'
import type { AuditEntry } from '@tenure/test-control-plane'
import type { AnnotatedVersion } from '../scenarios/lease-journal.ts'

/** A write that the API server refused, because the lease had changed. */
export interface Conflict {
  readonly user: string
  readonly purpose: 'acquire' | 'renew' | 'release' | 'announce'
  /** The user of the first write that the refused one did not know. */
  readonly causedBy: string
  /** Whether that write changed annotations only. */
  readonly isByAnnouncement: boolean
}

/** What the audit log says about the writes of a lease, compared with an independent watch of it. */
export interface LeaseWrites {
  readonly acknowledged: number
  /** Writes that took effect, but whose client had gone before the answer. */
  readonly unanswered: number
  /** Acknowledged writes that the watch did not see, or saw with other content. */
  readonly lost: readonly string[]
  /** Acknowledged writes that were not based on the version before them. */
  readonly blind: readonly string[]
  /** Versions with a time of renewal before that of the version before them: a write has undone another. */
  readonly undoing: readonly string[]
  /** Versions that no write explains. */
  readonly unexplained: readonly string[]
  /** The users of the writes that changed annotations only. */
  readonly announcers: readonly string[]
  readonly conflicts: readonly Conflict[]
}

interface LeaseBody {
  readonly metadata?: { readonly resourceVersion?: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly spec?: AnnotatedVersion['spec']
}

/** Compares the audit log of one lease with the versions that an independent watch saw. */
export function compareWrites(entries: readonly AuditEntry[], versions: readonly AnnotatedVersion[]): LeaseWrites {
  const acknowledged = entries.filter(({ verb, code }) => WRITES.includes(verb) && code < 300)
  const writers = writersOf(versions, entries)
  const unanswered = [...writers.values()].filter(({ code }) => code === CLIENT_HAS_GONE)
  const isSeen = (entry: AuditEntry) => isContentOf(versions.find(isWrittenBy(entry)), entry.responseObject)
  const isBased = (entry: AuditEntry) => {
    const position = versions.findIndex(isWrittenBy(entry))
    return entry.verb === 'create' ? position === 0 : basis(entry) === versions[position - 1]?.version
  }
  return {
    acknowledged: acknowledged.length,
    unanswered: unanswered.length,
    lost: acknowledged.filter((entry) => !isSeen(entry)).map(describe),
    blind: acknowledged.filter((entry) => isChange(entry) && !isBased(entry)).map(describe),
    undoing: versions
      .filter((version, position) => renewedAt(version) < renewedAt(versions[position - 1]) - CLOCK_ERROR_MS)
      .map(({ version }) => `${writers.get(version)?.user ?? NOBODY} ${version}`),
    unexplained: versions.filter(({ version }) => !writers.has(version)).map(({ version }) => version),
    announcers: versions
      .filter((_, position) => isAnnouncement(versions, position))
      .map(({ version }) => writers.get(version)?.user ?? NOBODY),
    conflicts: entries
      .filter(({ verb, code }) => verb === 'update' && code === CONFLICT)
      .map((entry) => conflictOf(entry, versions, writers)),
  }
}

const WRITES = ['create', 'update', 'patch', 'delete']
const NOBODY = 'nobody'
const CONFLICT = 409
/** What the API server writes down for a request whose client has closed the connection. */
const CLIENT_HAS_GONE = 504
/** Some clients write whole milliseconds, others microseconds. */
const CLOCK_ERROR_MS = 1

/** The write that made each version. */
function writersOf(
  versions: readonly AnnotatedVersion[],
  entries: readonly AuditEntry[],
): ReadonlyMap<string, AuditEntry> {
  const writes = entries.filter(({ verb }) => WRITES.includes(verb))
  const pairs = versions.flatMap((version, position) => {
    const isUnanswered = (entry: AuditEntry) =>
      entry.code === CLIENT_HAS_GONE &&
      basis(entry) === versions[position - 1]?.version &&
      isContentOf(version, entry.requestObject)
    const isAnswered = (entry: AuditEntry) => entry.code < 300 && isChange(entry) && isWrittenBy(entry)(version)
    const writer = writes.find((entry) => isAnswered(entry) || isUnanswered(entry))
    return writer === undefined ? [] : [[version.version, writer] as const]
  })
  return new Map(pairs)
}

function conflictOf(
  entry: AuditEntry,
  versions: readonly AnnotatedVersion[],
  writers: ReadonlyMap<string, AuditEntry>,
): Conflict {
  const known = versions.findIndex(({ version }) => version === basis(entry))
  const cause = versions[known + 1]
  return {
    user: entry.user,
    purpose: purposeOf(entry, versions[known]),
    causedBy: writers.get(cause?.version ?? '')?.user ?? NOBODY,
    isByAnnouncement: isAnnouncement(versions, known + 1),
  }
}

/** Whether this version differs from the one before it in annotations only. */
function isAnnouncement(versions: readonly AnnotatedVersion[], position: number): boolean {
  return position > 0 && isDeepStrictEqual(versions[position]?.spec, versions[position - 1]?.spec)
}

function renewedAt(version: AnnotatedVersion | undefined): number {
  return Date.parse(version?.spec.renewTime ?? '')
}

function isContentOf(version: AnnotatedVersion | undefined, object: unknown): boolean {
  const { spec, metadata } = bodyOf(object)
  return isDeepStrictEqual(version?.spec, spec) && isDeepStrictEqual(version?.annotations, metadata?.annotations ?? {})
}

function isWrittenBy(entry: AuditEntry): (version: AnnotatedVersion) => boolean {
  return ({ version }) => version === written(entry)
}

/** Whether the write changed anything: the API server answers others with the version that is there. */
function isChange(entry: AuditEntry): boolean {
  return basis(entry) !== written(entry)
}

/** The version on which the write was based. */
function basis({ requestObject }: AuditEntry): string | undefined {
  return bodyOf(requestObject).metadata?.resourceVersion
}

/** The version that the write made. */
function written({ responseObject }: AuditEntry): string {
  return bodyOf(responseObject).metadata?.resourceVersion ?? ''
}

function purposeOf({ requestObject }: AuditEntry, known: AnnotatedVersion | undefined): Conflict['purpose'] {
  const { spec } = bodyOf(requestObject)
  if (!spec?.holderIdentity) return 'release'
  if (spec.holderIdentity !== known?.holder) return 'acquire'
  return spec.renewTime === known.spec.renewTime ? 'announce' : 'renew'
}

function bodyOf(object: unknown): LeaseBody {
  return object ?? {}
}

function describe({ user, verb, responseObject }: AuditEntry): string {
  return `${user} ${verb} ${JSON.stringify(bodyOf(responseObject).metadata?.resourceVersion)}`
}
