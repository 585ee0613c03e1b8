import crypto from 'node:crypto'
import dns from 'node:dns'
import events, { EventEmitter } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import module from 'node:module'
import net from 'node:net'
import os from 'node:os'
import stream from 'node:stream'
import tls from 'node:tls'
import { createTracing } from 'node:trace_events'
import util from 'node:util'
import v8 from 'node:v8'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici'
import { type CleanUp, kept, type Plant } from './plant.ts'

const bus = new EventEmitter()
const root = new AbortController()
// A listener of `onabort` that is there before anybody watches.
const armed = new AbortController()
Reflect.set(armed.signal, 'onabort', null)

const hooks = v8.promiseHooks as unknown as { onInit(hook: () => void): CleanUp }
const authorities = tls as unknown as {
  setDefaultCACertificates?: (list: readonly string[]) => void
  getCACertificates?: (type: string) => readonly string[]
}

/** Changes a setting for the worse, and returns what puts it back. */
type Change = () => CleanUp

/** A plant whose twin puts back what it has changed. */
function changing(name: string, change: Change, facts: Partial<Plant> = {}): Plant {
  return { name, kind: 'process-state', leak: change, clean: () => change()(), ...facts }
}

function assigned<T extends object, K extends keyof T>(target: T, key: K, value: T[K]): Change {
  return () => {
    const before = target[key]
    target[key] = value
    return () => {
      target[key] = before
    }
  }
}

function called<T>(get: () => T, set: (value: T) => unknown, value: T): Change {
  return () => {
    const before = get()
    set(value)
    return () => set(before)
  }
}

/** Settings of the process: see `process-wide.test.ts` for which of them is about which. */
export const settingPlants: readonly Plant[] = [
  changing('global dispatcher of undici', () => {
    const before = getGlobalDispatcher()
    setGlobalDispatcher(new Agent())
    return () => setGlobalDispatcher(before)
  }),
  changing(
    'environment of workers',
    called(
      () => getEnvironmentData('leaked'),
      (value) => setEnvironmentData('leaked', value),
      'yes',
    ),
  ),
  changing(
    'defaults of util.inspect',
    called(
      () => ({ ...util.inspect.defaultOptions }),
      (options) => (util.inspect.defaultOptions = options),
      { depth: 9 },
    ),
  ),
  changing('a default of util.inspect', () => assigned(util.inspect.defaultOptions, 'depth', 8)()),
  changing(
    'high water mark of streams',
    called(
      () => stream.getDefaultHighWaterMark(false),
      (mark) => stream.setDefaultHighWaterMark(false, mark),
      1000,
    ),
  ),
  changing(
    'high water mark of object streams',
    called(
      () => stream.getDefaultHighWaterMark(true),
      (mark) => stream.setDefaultHighWaterMark(true, mark),
      3,
    ),
  ),
  // Only the superuser may take it back: to the value that it has, and by one less where that is allowed.
  ...(process.getuid?.() === 0
    ? [
        changing(
          'priority of the process',
          called(
            () => os.getPriority(),
            (priority) => os.setPriority(priority),
            5,
          ),
        ),
      ]
    : []),
  changing(
    'maximum of listeners of the process',
    called(
      () => process.getMaxListeners(),
      (max) => process.setMaxListeners(max),
      77,
    ),
  ),
  changing(
    'maximum of listeners of an emitter',
    called(
      () => bus.getMaxListeners(),
      (max) => bus.setMaxListeners(max),
      77,
    ),
  ),
  changing(
    'maximum of listeners of a signal',
    called(
      () => events.getMaxListeners(root.signal),
      (max) => events.setMaxListeners(max, root.signal),
      77,
    ),
  ),
  changing(
    'default maximum of listeners',
    called(
      () => EventEmitter.defaultMaxListeners,
      (max) => events.setMaxListeners(max),
      78,
    ),
    { kind: 'global' },
  ),
  changing(
    'servers of DNS',
    called(
      () => dns.getServers(),
      (servers) => dns.setServers(servers),
      ['127.0.0.9'],
    ),
  ),
  changing(
    'choice of address family',
    called(
      () => net.getDefaultAutoSelectFamily(),
      (isOn) => net.setDefaultAutoSelectFamily(isOn),
      !net.getDefaultAutoSelectFamily(),
    ),
  ),
  changing(
    'timeout for the choice of address family',
    called(
      () => net.getDefaultAutoSelectFamilyAttemptTimeout(),
      (ms) => net.setDefaultAutoSelectFamilyAttemptTimeout(ms),
      999,
    ),
  ),
  ...(authorities.setDefaultCACertificates === undefined
    ? []
    : [
        changing(
          'certificate authorities of TLS',
          called(
            () => authorities.getCACertificates?.('default') ?? [],
            (list) => authorities.setDefaultCACertificates?.(list),
            [],
          ),
        ),
      ]),
  changing('flag of V8', () => {
    v8.setFlagsFromString('--stress-flush-code')
    return () => v8.setFlagsFromString('--no-stress-flush-code')
  }),
  changing('pool of HTTP parsers', () => {
    http.setMaxIdleHTTPParsers(5)
    return () => http.setMaxIdleHTTPParsers(1000)
  }),
  changing('global agent of HTTP', assigned(http, 'globalAgent', new http.Agent()), { kind: 'global' }),
  changing('global agent of HTTPS', assigned(https, 'globalAgent', new https.Agent()), { kind: 'global' }),
  changing('option of the global agent', assigned(http.globalAgent, 'maxSockets', 3)),
  changing(
    'lowest version of TLS',
    assigned(tls as { DEFAULT_MIN_VERSION: string }, 'DEFAULT_MIN_VERSION', 'TLSv1.3'),
    {
      kind: 'global',
    },
  ),
  changing('title of the process', assigned(process, 'title', 'leaked'), {
    unplaced: 'Node implements the property natively, and redefining it would break it',
  }),
  changing('arguments of the process', () => {
    process.argv.push('leaked')
    return () => process.argv.pop()
  }),
  changing('silenced deprecations', assigned(process, 'noDeprecation' as never, true as never)),
  changing(
    'source maps',
    called(
      () => process.sourceMapsEnabled,
      (isOn) => process.setSourceMapsEnabled(isOn),
      !process.sourceMapsEnabled,
    ),
  ),
  changing('folder of reports', assigned(process.report, 'directory', '/tmp/leaked')),
  changing('depth of stacks', assigned(Error, 'stackTraceLimit', 3), {
    unplaced: 'V8 takes no stacks when the property has a setter',
  }),
  changing(
    'formatter of stacks',
    assigned(Error as { prepareStackTrace?: unknown }, 'prepareStackTrace', () => 'leaked'),
    { kind: 'global', isAssigned: true },
  ),
  changing('signal that shows a trace', () => {
    util.setTraceSigInt(true)
    return () => util.setTraceSigInt(false)
  }),
  changing('buffer of resource timings', () => {
    performance.setResourceTimingBufferSize(5)
    return () => performance.setResourceTimingBufferSize(250)
  }),
  changing('hook of every promise', () => hooks.onInit(() => {}), { kind: 'async-hook' }),
  changing(
    'profile of the garbage collector',
    () => {
      const profiler = new v8.GCProfiler()
      profiler.start()
      kept.push(profiler)
      return () => void profiler.stop()
    },
    { kind: 'handle' },
  ),
  changing('trace of events', () => {
    const tracing = createTracing({ categories: ['node.perf'] })
    tracing.enable()
    return () => tracing.disable()
  }),
  changing(
    'loader of modules',
    assigned(module as unknown as { _load: (...args: unknown[]) => unknown }, '_load', () => ({})),
    { kind: 'global', isAssigned: true },
  ),
  changing(
    'extension of modules',
    () => {
      const extensions = Reflect.get(module, '_extensions') as Record<string, unknown>
      extensions['.leaked'] = () => {}
      return () => delete extensions['.leaked']
    },
    { kind: 'global', isAssigned: true },
  ),
  changing('size of the pool of buffers', assigned(Buffer, 'poolSize', 1), { kind: 'global' }),
  changing(
    'getter on a prototype',
    () => {
      Reflect.defineProperty(Object.prototype, 'leaked', { configurable: true, get: () => 'yes' })
      return () => Reflect.deleteProperty(Object.prototype, 'leaked')
    },
    { kind: 'global', isAssigned: true },
  ),
  changing('random numbers that are not', assigned(crypto, 'randomUUID', (() => 'leaked') as never), {
    kind: 'global',
    isAssigned: true,
  }),
  changing(
    'handler of a signal',
    () => {
      Reflect.set(root.signal, 'onabort', () => {})
      return () => {
        Reflect.set(root.signal, 'onabort', null)
      }
    },
    { kind: 'abort-listener' },
  ),
  changing(
    'handler of a signal that had one',
    () => {
      Reflect.set(armed.signal, 'onabort', () => {})
      return () => {
        Reflect.set(armed.signal, 'onabort', null)
      }
    },
    { kind: 'abort-listener' },
  ),
]
