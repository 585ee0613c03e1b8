import { durationText } from './duration.ts'
import type { LeaseStatus } from './lease-status.ts'
import { type Column, table } from './table.ts'

/** How to lay a table out. */
export interface TableStyle {
  readonly isWide: boolean
  /** Whether there are leases of several namespaces. */
  readonly withNamespaces: boolean
  /** The width of the terminal; undefined if the output is no terminal. */
  readonly columns: number | undefined
}

const UNKNOWN = '?'

const NAMESPACE: Column<LeaseStatus> = { title: 'NAMESPACE', text: ({ namespace }) => namespace }

const COLUMNS: readonly Column<LeaseStatus>[] = [
  { title: 'LEASE', text: ({ name }) => name },
  {
    title: 'HOLDER',
    text: ({ holder, isDraining }) => (holder === '' ? '-' : `${holder}${isDraining ? ' (draining)' : ''}`),
  },
  { title: 'EPOCH', text: ({ epoch }) => epoch ?? '-' },
  { title: 'AGE', text: ({ ageMs }) => (ageMs === undefined ? '-' : durationText(ageMs)) },
  { title: 'EXPIRES', text: expiresText },
  { title: 'STANDBYS', text: ({ standbys }) => String(standbys.length) },
  { title: 'CANDIDATES', text: ({ candidates }) => countText(candidates) },
  { title: 'FENCES', text: ({ fences }) => countText(fences) },
  { title: 'CHANGES/1H', text: ({ changesLastHour }) => String(changesLastHour ?? UNKNOWN) },
]

const WIDE: readonly Column<LeaseStatus>[] = [
  { title: 'CLIENT', text: ({ client }) => client || '-' },
  { title: 'DURATION', text: ({ durationSeconds }) => (durationSeconds === undefined ? '-' : `${durationSeconds}s`) },
  { title: 'TRANSITIONS', text: ({ transitions }) => String(transitions ?? '-') },
  { title: 'STRATEGY', text: ({ strategy }) => strategy ?? '-' },
  { title: 'STANDBY IDENTITIES', text: ({ standbys }) => standbys.join(',') || '-' },
]

const PROBLEMS: Column<LeaseStatus> = { title: 'PROBLEMS', text: ({ problems }) => problems.join('; ') || '-' }

/** The table of `tenure status`. */
export function statusTable(rows: readonly LeaseStatus[], { isWide, withNamespaces, columns }: TableStyle): string {
  const hasProblems = rows.some(({ problems }) => problems.length > 0)
  const chosen = [
    ...(withNamespaces ? [NAMESPACE] : []),
    ...COLUMNS,
    ...(isWide ? WIDE : []),
    ...(hasProblems ? [PROBLEMS] : []),
  ]
  return table(chosen, rows, columns)
}

/** A tilde marks what rests on the clock of the holder. */
function expiresText({ expiresInMs, expiry }: LeaseStatus): string {
  if (expiresInMs === undefined) return '-'
  const mark = expiry === 'observed' ? '' : '~'
  return expiresInMs > 0 ? `${mark}${durationText(expiresInMs)}` : `${mark}expired ${durationText(-expiresInMs)}`
}

function countText(names: readonly string[] | undefined): string {
  return names === undefined ? UNKNOWN : String(names.length)
}
