import { builtinModules } from 'node:module'
import { describe, expect, it } from 'vitest'
import { PROCESS_SETTINGS } from '../../src/leaks/process-settings.ts'
import { plants } from './plants/index.ts'

/*
 * Everything by which Node lets code change what there is once in a process. A name that a later release adds fails the test until it
 * is either seen or listed with its reason.
 */

/** Seen: by which plant, or by which setting. */
const SEEN: Readonly<Record<string, string>> = {
  'process.chdir': 'process.cwd()',
  'process.umask': 'umask',
  'process.loadEnvFile': 'environment variable',
  'process.setUncaughtExceptionCaptureCallback': 'callback for uncaught exceptions',
  'process.addUncaughtExceptionCaptureCallback': 'callback for uncaught exceptions',
  'process.setSourceMapsEnabled': 'source maps',
  'process.setuid': 'process.getuid()',
  'process.setgid': 'process.getgid()',
  'process.seteuid': 'process.geteuid()',
  'process.setegid': 'process.getegid()',
  'process.setgroups': 'process.getgroups()',
  'process.initgroups': 'process.getgroups()',
  'cluster.setupPrimary': 'cluster.settings',
  'cluster.setupMaster': 'cluster.settings',
  'crypto.setEngine': 'flag of V8',
  'crypto.setFips': 'crypto.getFips()',
  'dns.setDefaultResultOrder': 'order of DNS results',
  'dns.setServers': 'servers of DNS',
  'dns/promises.setDefaultResultOrder': 'order of DNS results',
  'dns/promises.setServers': 'servers of DNS',
  'events.setMaxListeners': 'maximum of listeners of a signal',
  'http.setMaxIdleHTTPParsers': 'pool of HTTP parsers',
  'http.setGlobalProxyFromEnv': 'pool of HTTP parsers',
  'module.registerHooks': 'hook of the module loader',
  'module.register': 'flag of V8',
  'module.enableCompileCache': 'flag of V8',
  'module.setSourceMapsSupport': 'source maps',
  'net.setDefaultAutoSelectFamily': 'choice of address family',
  'net.setDefaultAutoSelectFamilyAttemptTimeout': 'timeout for the choice of address family',
  'os.setPriority': 'os.getPriority()',
  'stream.setDefaultHighWaterMark': 'high water mark of streams',
  'tls.setDefaultCACertificates': 'certificate authorities of TLS',
  'util.setTraceSigInt': 'signal that shows a trace',
  'sys.setTraceSigInt': 'signal that shows a trace',
  'v8.setFlagsFromString': 'flag of V8',
  'v8.setHeapSnapshotNearHeapLimit': 'flag of V8',
  'worker_threads.setEnvironmentData': 'environment of workers',
  'perf_hooks.setResourceTimingBufferSize': 'buffer of resource timings',
}

/** Not seen, and why not. */
const LEFT_ALONE: Readonly<Record<string, string>> = {
  'process.exitCode': 'test runners set it, and it is meant to stay',
  'process._channel': 'the channel to the parent process',
  'process.domain': 'deprecated with the module `domain`',
  'process._exiting': 'Node sets it when the process exits',
  'process.finalization': 'holds its objects weakly, and what it registers goes with them',
  'dns.setLocalAddress': 'of one resolver',
  'events.addAbortListener': 'adds a listener to a signal, which is seen as that',
  'stream.addAbortSignal': 'adds a listener to a signal, which is seen as that',
  'timers.setTimeout': 'makes a timer, which is seen as that',
  'timers.setInterval': 'makes a timer, which is seen as that',
  'timers.setImmediate': 'makes a timer, which is seen as that',
  'timers/promises.setTimeout': 'makes a timer, which is seen as that',
  'timers/promises.setInterval': 'makes a timer, which is seen as that',
  'timers/promises.setImmediate': 'makes a timer, which is seen as that',
  'repl.start': 'makes a REPL, whose listeners are seen',
  'v8.startupSnapshot': 'only while a snapshot is built',
  'v8.startCpuProfile': 'a profile that runs does not show anywhere',
  'v8.startHeapProfile': 'a profile that runs does not show anywhere',
  'v8.setHeapProfileNearHeapLimit': 'Node 26: can be set once, and not be read',
  'zlib.setMaxZipContentSize': 'Node 26: cannot be read',
}

const SETTER = /^(?:set|enable|disable|register|add|start|load(?!avg)|initgroups$|chdir$|umask$|drop|install|unset)/

async function setters(): Promise<readonly string[]> {
  const names = await Promise.all(
    builtinModules
      .filter(
        (name) =>
          !name.startsWith('_') &&
          !/^(?:node:)?(?:test|inspector|trace_events|constants|wasi|sqlite|ffi|quic)\b/.test(name),
      )
      .map(async (name) => {
        const { default: exported } = (await import(name.startsWith('node:') ? name : `node:${name}`)) as {
          default: unknown
        }
        const object = Object(exported) as object
        return Object.getOwnPropertyNames(object)
          .filter((key) => SETTER.test(key) && typeof Reflect.get(object, key) === 'function')
          .map((key) => `${name}.${key}`)
      }),
  )
  return names.flat()
}

/** What of `process` can be assigned to, by an accessor of its own. */
function accessors(): readonly string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(process)).flatMap(([name, descriptor]) =>
    Reflect.get(descriptor, 'set') === undefined ? [] : [`process.${name}`],
  )
}

describe('what there is once in a process', () => {
  it('is either seen or left alone for a reason, whatever Node has to change it', async () => {
    const unknown = [...(await setters()), ...accessors()].filter((name) => !(name in SEEN) && !(name in LEFT_ALONE))
    expect(unknown).toEqual([])
  })

  it.each(Object.entries(SEEN))('is planted or read where %s changes it: %s', (_name, by) => {
    const known = [...plants, ...PROCESS_SETTINGS].map(({ name }) => name)
    expect(known).toContain(by)
  })
})
