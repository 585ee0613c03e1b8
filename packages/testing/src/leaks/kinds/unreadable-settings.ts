import crypto from 'node:crypto'
import http from 'node:http'
import module from 'node:module'
import { performance } from 'node:perf_hooks'
import tls from 'node:tls'
import util from 'node:util'
import v8 from 'node:v8'
import workerThreads from 'node:worker_threads'
import { textOf } from '@tenure/core/internal'
import type { Entry, Ledger } from '../ledger.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'
import { isUnobserved } from '../unobserved.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown

/** A setting of the process that cannot be read, or is expensive to read. It is tracked by the calls that change it. */
interface UnreadableSetting {
  readonly module: string
  readonly owner: object
  readonly method: string
  /** Which of several settings a call is about. @default one for the function */
  readonly keyOf?: (args: readonly unknown[]) => string
  /** What it is before the first call. */
  readonly before: (args: readonly unknown[]) => unknown
  /** What it is after a call. */
  readonly after: (args: readonly unknown[]) => unknown
}

/** For what cannot be put back: it is never what it was before. */
const NEVER = Symbol('not called')

const onceAndForAll = (module: string, owner: object, method: string): UnreadableSetting => ({
  module,
  owner,
  method,
  before: () => NEVER,
  after: () => true,
})

const SETTINGS: readonly UnreadableSetting[] = [
  {
    module: 'worker_threads',
    owner: workerThreads,
    method: 'setEnvironmentData',
    keyOf: ([key]) => textOf(key),
    before: ([key]) => workerThreads.getEnvironmentData(key as string),
    after: ([key]) => workerThreads.getEnvironmentData(key as string),
  },
  {
    module: 'tls',
    owner: tls,
    method: 'setDefaultCACertificates',
    before: () => defaultAuthorities(),
    // What Node has then may be written otherwise.
    after: ([list]) => (Array.isArray(list) ? textOfAuthorities(list as readonly unknown[]) : defaultAuthorities()),
  },
  {
    module: 'v8',
    owner: v8,
    method: 'setFlagsFromString',
    keyOf: ([flag]) => nameOfFlag(textOf(flag)),
    before: ([flag]) => negationOf(textOf(flag)),
    after: ([flag]) => textOf(flag).trim().replaceAll('_', '-'),
  },
  { module: 'http', owner: http, method: 'setMaxIdleHTTPParsers', before: () => 1000, after: ([max]) => max },
  {
    module: 'performance',
    owner: performance,
    method: 'setResourceTimingBufferSize',
    before: () => 250,
    after: ([size]) => size,
  },
  { module: 'util', owner: util, method: 'setTraceSigInt', before: () => false, after: ([isOn]) => isOn },
  onceAndForAll('v8', v8, 'setHeapSnapshotNearHeapLimit'),
  onceAndForAll('module', module, 'register'),
  onceAndForAll('module', module, 'enableCompileCache'),
  onceAndForAll('crypto', crypto, 'setEngine'),
  onceAndForAll('process', process, 'addUncaughtExceptionCaptureCallback'),
]

/** Settings of the process that only show in the calls that change them. */
export const trackUnreadableSettings: Tracker = ({ ledger }) =>
  undoAll([...SETTINGS.map((setting) => watchSetting(ledger, setting)), watchProxyFromEnvironment(ledger)])

interface Known {
  readonly before: unknown
  now: unknown
  entry: Entry | undefined
}

function watchSetting(ledger: Ledger, setting: UnreadableSetting): Undo {
  const { module, owner, method, keyOf = () => '', before, after } = setting
  const target = owner as Record<string, Call>
  if (typeof target[method] !== 'function') return () => {}
  const settings = new Map<string, Known>()
  return replaceProperty(
    target,
    method,
    (original) =>
      function set(...args) {
        if (isUnobserved()) return original.apply(this, args)
        const key = keyOf(args)
        const known = settings.get(key) ?? { before: before(args), now: undefined, entry: undefined }
        const result = original.apply(this, args)
        settings.set(key, known)
        known.now = after(args)
        if (known.entry !== undefined) ledger.remove(known.entry)
        const detail = `\`${module}.${method}(${key})\``
        const isAlive = () => !Object.is(known.now, known.before)
        known.entry = ledger.add({ isAlive, describe: () => ({ kind: 'process-state', detail }) })
        return result
      },
  )
}

/** Returns what undoes it. */
function watchProxyFromEnvironment(ledger: Ledger): Undo {
  const target = http as unknown as Record<'setGlobalProxyFromEnv', Call>
  if (typeof target.setGlobalProxyFromEnv !== 'function') return () => {}
  return replaceProperty(target, 'setGlobalProxyFromEnv', (original) => (...args) => {
    const restore = original.apply(http, args)
    const detail = '`http.setGlobalProxyFromEnv()`'
    const entry = ledger.add({ isAlive: () => true, describe: () => ({ kind: 'process-state', detail }) })
    return () => {
      ledger.remove(entry)
      return typeof restore === 'function' ? (restore as () => unknown)() : undefined
    }
  })
}

/** One text for all of them, whatever their order. */
function defaultAuthorities(): string {
  const { getCACertificates } = tls as unknown as { getCACertificates: (type: string) => readonly string[] }
  return textOfAuthorities(getCACertificates('default'))
}

function textOfAuthorities(list: readonly unknown[]): string {
  return list.map(String).toSorted().join('')
}

function nameOfFlag(flag: string): string {
  return flag
    .trim()
    .replace(/^--?(?:no-?)?/, '')
    .replaceAll('_', '-')
    .replace(/=.*/, '')
}

/** The opposite flag undoes a flag without a value. The earlier value of any other flag is unknown. */
function negationOf(flag: string): unknown {
  const name = nameOfFlag(flag)
  if (flag.includes('=')) return NEVER
  return /^\s*--?no/.test(flag) ? `--${name}` : `--no-${name}`
}
