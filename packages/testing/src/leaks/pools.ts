import http from 'node:http'
import { isLibraryFrame, isOwnFrame } from './frame-owner.ts'
import type { Frame } from './frame.ts'
import type { EntryContext } from './ledger.ts'
import { currentOrigin } from './origin.ts'
import { rawFramesOf, takeTrace, type Trace } from './trace.ts'

/** Undici itself, in `node_modules` or in Node: it makes a dispatcher of its own for the process, and parts of those of others. */
const UNDICI = /[\\/]undici[\\/]lib[\\/]|^node:internal\/deps\/undici\//
/** Creates a pool per request, or per user and cluster, and has no API to close it. */
const SHARED_BY_DESIGN = /[\\/]@kubernetes[\\/]client-node[\\/]/
const DEEPEST = 8

/**
 * The connection pools that were created during a watch by code that can close them.
 *
 * Every other pool belongs to the whole process: the global dispatcher, the global agents, older pools, and the pools of
 * client-node. An idle connection in such a pool is not a leak.
 */
export class Pools {
  readonly #made = new Map<WeakRef<object>, number>()
  readonly #contexts = new WeakMap<object, EntryContext>()

  /** Records a new emitter if it is a pool. */
  note(emitter: object, serial: number): void {
    if (!isPool(emitter)) return
    const trace = takeTrace()
    if (isMadeForAll(emitter, trace)) {
      madeForAll.add(emitter)
      return
    }
    this.#made.set(new WeakRef(emitter), serial)
    this.#contexts.set(emitter, { trace, origin: currentOrigin() })
  }

  /** The creator of a pool, if recorded. */
  makerOf(pool: object): EntryContext | undefined {
    return this.#contexts.get(pool)
  }

  /** Whether a socket belongs to a pool that was created since `serial`. */
  isMadeSince(socket: object, serial: number): boolean {
    for (const [ref, madeAt] of this.#made) {
      const pool = ref.deref()
      if (pool === undefined) this.#made.delete(ref)
      else if (madeAt >= serial && holds(pool, socket)) return true
    }
    return false
  }
}

/** Dispatchers that undici makes for the process itself. */
const madeForAll = new WeakSet<object>()

/**
 * The dispatcher of undici, or that of `fetch()`, which is another one in older releases; nothing as long as it is the one that they
 * have made themselves, and where that of `fetch()` is the other or a wrapper of it.
 */
export function globalDispatcher(version: 1 | 2): object | undefined {
  const dispatcher = dispatcherOf(version)
  if (version === 1 && dispatcher === dispatcherOf(2)) return undefined
  if (typeof dispatcher !== 'object' || dispatcher === null || madeForAll.has(dispatcher)) return undefined
  return dispatcher.constructor.name === 'Dispatcher1Wrapper' ? undefined : dispatcher
}

function dispatcherOf(version: 1 | 2): unknown {
  return Reflect.get(globalThis, Symbol.for(`undici.globalDispatcher.${version}`))
}

function isPool(emitter: object): boolean {
  return isDispatcher(emitter) || emitter instanceof http.Agent
}

function isDispatcher(object: object): boolean {
  return typeof Reflect.get(object, 'dispatch') === 'function' && typeof Reflect.get(object, 'destroy') === 'function'
}

/**
 * The constructors of the pool are the innermost functions, then those of a pool that it is a part of; what called them has made it.
 */
function isMadeForAll(pool: object, trace: Trace): boolean {
  const constructors = constructorsOf(pool)
  const isConstructor = ({ name, file }: Frame) => constructors.has(name) || (UNDICI.test(file) && /^[A-Z]/.test(name))
  const maker = rawFramesOf(trace).find((frame) => !isOwnFrame(frame) && frame.name !== 'init' && !isConstructor(frame))
  return maker !== undefined && (UNDICI.test(maker.file) || isOfClientNode(maker))
}

function isOfClientNode(maker: Frame): boolean {
  return isLibraryFrame(maker) && SHARED_BY_DESIGN.test(maker.file)
}

function constructorsOf(object: object): ReadonlySet<string> {
  const names = new Set<string>()
  let prototype = Object.getPrototypeOf(object) as object | null
  while (prototype !== null) {
    names.add(prototype.constructor.name)
    prototype = Object.getPrototypeOf(prototype) as object | null
  }
  return names
}

/** Whether a pool has a socket somewhere in what it is made of: other pools, tables and lists. */
function holds(pool: object, socket: object): boolean {
  const seen = new Set<object>()
  const isThere = (object: object, depth: number): boolean => {
    if (object === socket) return true
    if (depth > DEEPEST || seen.has(object) || !isPart(object)) return false
    seen.add(object)
    return partsOf(object).some((part) => typeof part === 'object' && part !== null && isThere(part, depth + 1))
  }
  return isThere(pool, 0)
}

function isPart(object: object): boolean {
  if (Array.isArray(object) || object instanceof Map || object instanceof Set || isPool(object)) return true
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === null || prototype === Object.prototype
}

function partsOf(object: object): readonly unknown[] {
  if (object instanceof Map || object instanceof Set) return [...object.values()]
  return Reflect.ownKeys(object).flatMap((key) => {
    const descriptor = Object.getOwnPropertyDescriptor(object, key)
    return descriptor !== undefined && 'value' in descriptor ? [descriptor.value as unknown] : []
  })
}
