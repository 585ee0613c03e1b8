import cluster from 'node:cluster'
import crypto from 'node:crypto'
import dns from 'node:dns'
import dnsPromises from 'node:dns/promises'
import events, { EventEmitter } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import module from 'node:module'
import net from 'node:net'
import os from 'node:os'
import stream from 'node:stream'
import tls from 'node:tls'
import { inspect } from 'node:util'
import { globalDispatcher } from './pools.ts'

/** A readable setting of the process that a call or an assignment changes. */
export interface ProcessSetting {
  /** The name in a report. */
  readonly name: string
  /** Returns the current value. Equal values mean no change. */
  readonly read: () => unknown
  /** The functions that change it, for the place of the last change. */
  readonly calls?: readonly (readonly [owner: object, method: string])[]
  /** The property whose assignment changes it. Not a native property of Node: see {@link watchAssignments}. */
  readonly property?: () => readonly [owner: object, key: string]
}

/** Functions that a release of Node, or a platform, may not have. */
const optional = {
  getDefaultHighWaterMark: Reflect.get(stream, 'getDefaultHighWaterMark') as
    ((isObject: boolean) => number) | undefined,
  attemptTimeout: Reflect.get(net, 'getDefaultAutoSelectFamilyAttemptTimeout') as (() => number) | undefined,
}

const DEPRECATIONS = [
  'noDeprecation',
  'throwDeprecation',
  'traceDeprecation',
  'traceProcessWarnings',
  'execPath',
] as const
const REPORT = ['directory', 'filename', 'compact', 'signal', 'excludeNetwork'] as const
const REPORT_ON = ['reportOnFatalError', 'reportOnSignal', 'reportOnUncaughtException'] as const
const TLS = ['DEFAULT_MIN_VERSION', 'DEFAULT_MAX_VERSION', 'DEFAULT_CIPHERS', 'DEFAULT_ECDH_CURVE'] as const
const AGENT = ['maxSockets', 'maxFreeSockets', 'maxTotalSockets', 'keepAlive', 'keepAliveMsecs', 'scheduling'] as const

/** Every setting of the process that can be read cheaply. */
export const PROCESS_SETTINGS: readonly ProcessSetting[] = [
  { name: 'process.cwd()', read: cwd, calls: [[process, 'chdir']] },
  { name: 'process.umask()', read: () => process.umask(), calls: [[process, 'umask']] },
  { name: 'process.title', read: () => process.title },
  { name: 'process.argv', read: () => process.argv.join('\0') },
  { name: 'process.execArgv', read: () => process.execArgv.join('\0') },
  ...DEPRECATIONS.map((key) => assigned('process', () => process, key)),
  ...identities(),
  {
    name: 'process.hasUncaughtExceptionCaptureCallback()',
    read: () => process.hasUncaughtExceptionCaptureCallback(),
    calls: [[process, 'setUncaughtExceptionCaptureCallback']],
  },
  {
    name: 'process.sourceMapsEnabled',
    read: () => Reflect.get(process, 'sourceMapsEnabled'),
    calls: [
      [process, 'setSourceMapsEnabled'],
      [module, 'setSourceMapsSupport'],
    ],
  },
  ...[...REPORT, ...REPORT_ON].map((key) => assigned('process.report', () => process.report, key)),
  {
    name: 'dns.getServers()',
    read: () => dns.getServers().join(' '),
    calls: [
      [dns, 'setServers'],
      [dnsPromises, 'setServers'],
    ],
  },
  {
    name: 'dns.getDefaultResultOrder()',
    read: () => dns.getDefaultResultOrder(),
    calls: [
      [dns, 'setDefaultResultOrder'],
      [dnsPromises, 'setDefaultResultOrder'],
    ],
  },
  {
    name: 'net.getDefaultAutoSelectFamily()',
    read: () => net.getDefaultAutoSelectFamily(),
    calls: [[net, 'setDefaultAutoSelectFamily']],
  },
  {
    name: 'net.getDefaultAutoSelectFamilyAttemptTimeout()',
    read: () => optional.attemptTimeout?.(),
    calls: [[net, 'setDefaultAutoSelectFamilyAttemptTimeout']],
  },
  {
    name: 'EventEmitter.defaultMaxListeners',
    read: () => EventEmitter.defaultMaxListeners,
    calls: [[events, 'setMaxListeners']],
  },
  {
    name: 'EventEmitter.captureRejections',
    read: () => Reflect.get(EventEmitter, 'captureRejections'),
  },
  { name: 'dns.lookup', read: () => dns.lookup },
  { name: 'process.stdout.write', read: () => Reflect.get(process.stdout, 'write') },
  { name: 'process.stderr.write', read: () => Reflect.get(process.stderr, 'write') },
  { name: 'undici.getGlobalDispatcher()', read: () => globalDispatcher(2) },
  { name: 'undici.getGlobalDispatcher() of fetch()', read: () => globalDispatcher(1) },
  { name: 'http.globalAgent', read: () => http.globalAgent, property: () => [http, 'globalAgent'] },
  { name: 'https.globalAgent', read: () => https.globalAgent, property: () => [https, 'globalAgent'] },
  ...AGENT.flatMap((key) => [
    assigned('http.globalAgent', () => http.globalAgent, key),
    assigned('https.globalAgent', () => https.globalAgent, key),
  ]),
  ...TLS.map((key) => assigned('tls', () => tls, key)),
  assigned('Buffer', () => Buffer, 'poolSize'),
  ...[false, true].map((isObject) => ({
    name: `stream.getDefaultHighWaterMark(${isObject})`,
    read: () => optional.getDefaultHighWaterMark?.(isObject),
    calls: [[stream, 'setDefaultHighWaterMark'] as const],
  })),
  { name: 'os.getPriority()', read: priority, calls: [[os, 'setPriority']] },
  {
    name: 'util.inspect.defaultOptions',
    read: () => valuesOf(inspect.defaultOptions),
  },
  {
    name: 'crypto.getFips()',
    read: () => crypto.getFips(),
    calls: [[crypto, 'setFips']],
    property: () => [crypto, 'fips'],
  },
  {
    name: 'cluster.settings',
    read: () => valuesOf(cluster.settings),
    calls: [
      [cluster, 'setupPrimary'],
      [cluster, 'setupMaster'],
    ],
  },
  {
    name: 'trace_events.getEnabledCategories()',
    read: traceCategories,
    calls: tracingPrototypes().flatMap((prototype) => [
      [prototype, 'enable'],
      [prototype, 'disable'],
    ]),
  },
  assigned('cluster', () => cluster, 'schedulingPolicy'),
]

/** A setting that is changed by assigning to a property. */
function assigned(ownerName: string, owner: () => object, key: string): ProcessSetting {
  return { name: `${ownerName}.${key}`, read: () => Reflect.get(owner(), key), property: () => [owner(), key] }
}

/** The user and group ids of the process. Windows has none. */
function identities(): readonly ProcessSetting[] {
  return (['uid', 'gid', 'euid', 'egid', 'groups'] as const).flatMap((name) => {
    const read: unknown = Reflect.get(process, `get${name}`)
    if (typeof read !== 'function') return []
    const calls = [`set${name}`, ...(name === 'groups' ? ['initgroups'] : [])]
    return [
      {
        name: `process.get${name}()`,
        read: () => String(read.call(process)),
        calls: calls.map((call) => [process, call] as const),
      },
    ]
  })
}

function cwd(): string {
  try {
    return process.cwd()
  } catch {
    return '' // It was removed.
  }
}

function priority(): number | undefined {
  try {
    return os.getPriority()
  } catch {
    return undefined // Where the system does not allow it.
  }
}

function traceCategories(): string | undefined {
  try {
    return process.getBuiltinModule('node:trace_events').getEnabledCategories()
  } catch {
    return undefined // A Node that was built without them, or a worker.
  }
}

/** The prototype of the class behind `createTracing()`, which Node does not export. */
function tracingPrototypes(): readonly object[] {
  try {
    const tracing = process.getBuiltinModule('node:trace_events').createTracing({ categories: ['node'] })
    return [Object.getPrototypeOf(tracing) as object]
  } catch {
    return []
  }
}

/** The entries of an object as one text. */
function valuesOf(object: object): string {
  return Object.entries(object).map(String).join(' ')
}
