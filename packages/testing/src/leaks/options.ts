import { OptionsError } from '@tenure/core'
import { assertKnownKeys, textOf } from '@tenure/core/internal'
import { LEAK_KINDS, type LeakKind } from './leak-kind.ts'

/** Leaks to ignore. */
interface LeakIgnoreList {
  /** Kinds to ignore. @default none */
  readonly kinds?: readonly LeakKind[]
  /**
   * Places to ignore. A leak is ignored if any line of its creation stack contains the text or matches the expression. A line has
   * the form `function path/to/file.ts:12:3`.
   * @default none
   */
  readonly sites?: readonly (string | RegExp)[]
}

/** Options of {@link watchForLeaks}. */
export interface LeakWatchOptions {
  /** Leaks to ignore. @default none */
  readonly ignore?: LeakIgnoreList
  /**
   * Time limit for cleanup that is still under way, in milliseconds. The check ends as soon as nothing is left.
   * @default 1000
   */
  readonly graceMs?: number
  /** Whether Terms, Controllers and the objects they own must be unreachable after their term has ended. @default true */
  readonly retained?: boolean
  /**
   * Whether the report shows a path from a global or a module to an object that is still reachable. Takes a heap snapshot if such an
   * object leaked, which blocks the process for about a second. @default false
   */
  readonly retainers?: boolean
}

/** {@link LeakWatchOptions} with all defaults. */
export interface ResolvedLeakWatchOptions {
  readonly ignoredKinds: ReadonlySet<LeakKind>
  readonly ignoredSites: readonly (string | RegExp)[]
  readonly graceMs: number
  readonly retained: boolean
  readonly retainers: boolean
}

/** The names of all {@link LeakWatchOptions}. */
export const LEAK_WATCH_OPTION_NAMES: readonly (keyof LeakWatchOptions)[] = [
  'ignore',
  'graceMs',
  'retained',
  'retainers',
]

const RETENTION: readonly LeakKind[] = ['term', 'controller', 'owned-object']

/** Applies the defaults. @throws OptionsError that names the invalid option. */
export function resolveLeakWatchOptions(options: LeakWatchOptions = {}): ResolvedLeakWatchOptions {
  const ignore = options.ignore ?? {}
  assertKnownKeys('`ignore`', ignore, ['kinds', 'sites'])
  const retained = resolveFlag('retained', options.retained, true)
  return {
    ignoredKinds: new Set([...resolveKinds(ignore.kinds), ...(retained ? [] : RETENTION)]),
    ignoredSites: resolveSites(ignore.sites),
    graceMs: resolveNumber('graceMs', options.graceMs, { fallback: 1000, min: 0 }),
    retained,
    retainers: resolveFlag('retainers', options.retainers, false),
  }
}

function resolveFlag(name: string, value: unknown, fallback: boolean): boolean {
  if (value !== undefined && typeof value !== 'boolean') throw expected(name, 'true or false', value)
  return value ?? fallback
}

/** What {@link resolveNumber} accepts. */
export interface NumberRule {
  readonly fallback: number
  readonly min: number
  readonly isWhole?: boolean
}

/** The given number, or the fallback. @throws OptionsError if it is not a number in range. */
export function resolveNumber(name: string, value: unknown, { fallback, min, isWhole = false }: NumberRule): number {
  if (value === undefined) return fallback
  if (typeof value === 'number' && Number.isFinite(value) && value >= min && (!isWhole || Number.isInteger(value))) {
    return value
  }
  throw expected(name, `a ${isWhole ? 'whole ' : ''}number of at least ${min}`, value)
}

function resolveKinds(kinds: unknown): readonly LeakKind[] {
  if (kinds === undefined) return []
  if (!Array.isArray(kinds)) throw expected('ignore.kinds', 'a list', kinds)
  for (const kind of kinds as readonly unknown[]) {
    assertKnownKeys('`ignore.kinds`', { [textOf(kind)]: true }, LEAK_KINDS)
  }
  return kinds as readonly LeakKind[]
}

function resolveSites(sites: unknown): readonly (string | RegExp)[] {
  if (sites === undefined) return []
  if (!Array.isArray(sites)) throw expected('ignore.sites', 'a list', sites)
  for (const site of sites as readonly unknown[]) {
    if (!(site instanceof RegExp) && (typeof site !== 'string' || site === '')) {
      throw expected('ignore.sites', 'a list of texts that are not empty and regular expressions', site)
    }
  }
  return sites as readonly (string | RegExp)[]
}

function expected(name: string, what: string, value: unknown): OptionsError {
  return OptionsError.expected(`\`${name}\` to be ${what}`, value)
}
