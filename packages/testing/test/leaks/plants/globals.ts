import dns from 'node:dns'
import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import inspector, { Session } from 'node:inspector'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { createGzip } from 'node:zlib'
import { kept, letGo, type Plant } from './plant.ts'

const globals = globalThis as Record<string, unknown>
const shared = new Int32Array(new SharedArrayBuffer(8))
const loader = module as unknown as { registerHooks: (hooks: object) => { deregister(): void } }
const locks = (
  globalThis as unknown as { navigator: { locks?: { request(name: string, held: () => unknown): Promise<unknown> } } }
).navigator.locks

function replace<T extends object, K extends keyof T>(target: T, key: K, value: T[K]): () => void {
  const original = target[key]
  target[key] = value
  return () => {
    target[key] = original
  }
}

/** What there is once in a process, and is not as it was. */
const statePlants: readonly Plant[] = [
  {
    name: 'new global with methods',
    kind: 'global',
    leak: () => {
      globals['leakedMethods'] = { leaked: () => true }
      return () => delete globals['leakedMethods']
    },
    clean: () => {
      globals['leakedMethods'] = { leaked: () => true }
      delete globals['leakedMethods']
    },
  },
  {
    name: 'environment variable',
    kind: 'process-state',
    leak: () => {
      process.env['LEAKED'] = 'yes'
      return () => delete process.env['LEAKED']
    },
    clean: () => {
      process.env['LEAKED'] = 'yes'
      delete process.env['LEAKED']
    },
  },
  {
    name: 'umask',
    kind: 'process-state',
    leak: () => {
      const before = process.umask(0o077)
      return () => process.umask(before)
    },
    clean: () => process.umask(process.umask(0o077)),
  },
  {
    name: 'callback for uncaught exceptions',
    kind: 'process-state',
    leak: () => {
      process.setUncaughtExceptionCaptureCallback(() => {})
      return () => process.setUncaughtExceptionCaptureCallback(null)
    },
    clean: () => {
      process.setUncaughtExceptionCaptureCallback(() => {})
      process.setUncaughtExceptionCaptureCallback(null)
    },
  },
  {
    name: 'order of DNS results',
    kind: 'process-state',
    leak: () => {
      const before = dns.getDefaultResultOrder()
      dns.setDefaultResultOrder('ipv6first')
      return () => dns.setDefaultResultOrder(before)
    },
    clean: () => {
      const before = dns.getDefaultResultOrder()
      dns.setDefaultResultOrder('ipv6first')
      dns.setDefaultResultOrder(before)
    },
  },
  {
    name: 'patched standard output',
    kind: 'global',
    isAssigned: true,
    leak: () => replace(process.stdout, 'write', () => true),
    clean: () => replace(process.stdout, 'write', () => true)(),
  },
  {
    name: 'rejections captured by every EventEmitter',
    kind: 'global',
    unplaced: 'Node does not let the property be redefined',
    leak: () => replace(EventEmitter, 'captureRejections', true),
    clean: () => replace(EventEmitter, 'captureRejections', true)(),
  },
  {
    name: 'new global',
    kind: 'global',
    leak: () => {
      globals['leaked'] = {}
      return () => delete globals['leaked']
    },
    clean: () => {
      globals['leaked'] = {}
      delete globals['leaked']
    },
  },
  {
    name: 'patched function of Node',
    kind: 'global',
    isAssigned: true,
    leak: () => replace(fs, 'readFileSync', (() => '') as unknown as typeof fs.readFileSync),
    clean: () => replace(fs, 'readFileSync', (() => '') as unknown as typeof fs.readFileSync)(),
  },
  {
    name: 'patched console',
    kind: 'global',
    isAssigned: true,
    leak: () => replace(console, 'debug', () => {}),
    clean: () => replace(console, 'debug', () => {})(),
  },
  {
    name: 'default of EventEmitter',
    kind: 'global',
    unplaced: 'Node does not let the property be redefined',
    leak: () => replace(EventEmitter, 'defaultMaxListeners', 99),
    clean: () => replace(EventEmitter, 'defaultMaxListeners', 99)(),
  },
]

export const globalPlants: readonly Plant[] = [
  ...statePlants,
  {
    name: 'mark on the performance timeline',
    kind: 'performance-entry',
    leak: () => {
      performance.mark('leaked')
      return () => performance.clearMarks('leaked')
    },
    clean: () => {
      performance.mark('cleared')
      performance.clearMarks('cleared')
    },
  },
  {
    name: 'measure on the performance timeline',
    kind: 'performance-entry',
    leak: () => {
      performance.measure('leaked')
      return () => performance.clearMeasures('leaked')
    },
    clean: () => {
      performance.measure('cleared')
      performance.clearMeasures('cleared')
    },
  },
  {
    name: 'session of the inspector',
    kind: 'inspector',
    leak: () => {
      const session = new Session()
      session.connect()
      return () => session.disconnect()
    },
    clean: () => {
      const session = new Session()
      session.connect()
      session.disconnect()
    },
  },
  {
    name: 'port of the inspector',
    kind: 'inspector',
    leak: () => {
      inspector.open(0, '127.0.0.1')
      return () => inspector.close()
    },
    clean: () => {
      inspector.open(0, '127.0.0.1')
      inspector.close()
    },
  },
  {
    name: 'hook of the module loader',
    kind: 'module-hook',
    leak: () => {
      const hooks = loader.registerHooks({})
      return () => hooks.deregister()
    },
    clean: () => loader.registerHooks({}).deregister(),
  },
  {
    name: 'wait for shared memory',
    kind: 'wait',
    leak: () => {
      Atomics.waitAsync(shared, 0, 0)
      return () => Atomics.notify(shared, 0)
    },
    clean: () => {
      Atomics.waitAsync(shared, 1, 0)
      Atomics.notify(shared, 1)
    },
  },
  ...(locks === undefined
    ? []
    : [
        {
          name: 'web lock',
          kind: 'wait',
          leak: () => {
            const { promise, resolve } = Promise.withResolvers<void>()
            void locks.request('leaked', () => promise)
            return resolve
          },
          clean: () => locks.request('released', () => {}),
        },
      ]),
  {
    name: 'temporary directory',
    kind: 'temporary-directory',
    leak: async () => {
      const path = await mkdtemp(join(tmpdir(), 'leaks-'))
      return () => rm(path, { recursive: true })
    },
    clean: async () => rm(await mkdtemp(join(tmpdir(), 'leaks-')), { recursive: true }),
  },
  {
    name: 'object URL',
    kind: 'object-url',
    leak: () => {
      const url = URL.createObjectURL(new Blob(['leaked']))
      return () => URL.revokeObjectURL(url)
    },
    clean: () => URL.revokeObjectURL(URL.createObjectURL(new Blob(['revoked']))),
  },
  {
    name: 'reader of a web stream that others use',
    kind: 'stream-lock',
    leak: () => {
      const stream = new ReadableStream()
      kept.push(stream)
      stream.getReader()
      return letGo
    },
    clean: () => {
      const stream = new ReadableStream()
      kept.push(stream)
      stream.getReader().releaseLock()
      return letGo
    },
  },
  {
    name: 'writer of a web stream that others use',
    kind: 'stream-lock',
    leak: () => {
      const stream = new WritableStream()
      kept.push(stream)
      stream.getWriter()
      return letGo
    },
    clean: async () => {
      const stream = new WritableStream()
      kept.push(stream)
      await stream.getWriter().close()
      return letGo
    },
  },
  {
    name: 'compression that was never ended',
    kind: 'handle',
    leak: () => {
      kept.push(createGzip())
      return letGo
    },
    clean: () => {
      const gzip = createGzip()
      kept.push(gzip)
      gzip.close()
      return letGo
    },
  },
  {
    name: 'readline on the standard input',
    kind: 'event-listener',
    leak: () => {
      const lines = createInterface({ input: process.stdin })
      return () => {
        lines.close()
        process.stdin.unref?.()
      }
    },
    clean: () => createInterface({ input: new PassThrough() }).close(),
  },
]
