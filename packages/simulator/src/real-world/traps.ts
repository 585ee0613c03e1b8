import childProcess from 'node:child_process'
import crypto from 'node:crypto'
import dgram from 'node:dgram'
import dns from 'node:dns'
import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import net from 'node:net'
import process from 'node:process'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import workerThreads from 'node:worker_threads'

/** A function that leaves the simulation. */
export interface Trap {
  readonly target: object
  readonly key: string
  /** The name of the call in errors. */
  readonly call: string
  readonly instead: string
  /** Whether a call with these arguments leaves the simulation. @default every call does */
  readonly isReal?: (args: readonly unknown[]) => boolean
}

const CLOCK = '`world.clock`'
const TIMER = '`term.sleep()`, `term.every()` or `world.clock.setTimer()`'
const CHANCE = '`world.random()`'
const IO = '`world.get()` and `world.put()`, or pass the I/O to the controller as a dependency'

/** Every function that simulated code must not call. */
export function allTraps(): readonly Trap[] {
  return [
    { target: globalThis, key: 'Date', call: 'new Date()', instead: CLOCK, isReal: (args) => args.length === 0 },
    ...named(Date, 'Date.', CLOCK, ['now']),
    ...named(performance, 'performance.', CLOCK, ['now']),
    ...named(process, 'process.', CLOCK, ['hrtime', 'uptime']),
    ...named(process.hrtime, 'process.hrtime.', CLOCK, ['bigint']),
    ...named(globalThis, '', TIMER, ['setTimeout', 'setInterval', 'setImmediate']),
    ...named(timers, 'timers.', TIMER, ['setTimeout', 'setInterval', 'setImmediate']),
    ...named(timersPromises, 'timers/promises ', TIMER, ['setTimeout', 'setInterval', 'setImmediate']),
    ...named(timersPromises.scheduler, 'scheduler.', TIMER, ['wait']),
    ...named(AbortSignal, 'AbortSignal.', TIMER, ['timeout']),
    ...named(Math, 'Math.', CHANCE, ['random']),
    ...named(globalThis.crypto, 'crypto.', CHANCE, ['randomUUID', 'getRandomValues']),
    ...named(crypto, 'crypto.', CHANCE, ['randomUUID', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync']),
    ...named(globalThis, '', IO, ['fetch', 'WebSocket', 'EventSource']),
    ...functionsOf(fs, 'fs.'),
    ...functionsOf(fsPromises, 'fs/promises '),
    ...functionsOf(dns, 'dns.'),
    ...functionsOf(childProcess, 'child_process.'),
    ...named(net.Socket.prototype, 'net.Socket.', IO, ['connect']),
    ...named(net.Server.prototype, 'net.Server.', IO, ['listen']),
    ...named(dgram, 'dgram.', IO, ['createSocket']),
    ...named(workerThreads, 'worker_threads.', IO, ['Worker']),
  ]
}

function named(target: object, prefix: string, instead: string, keys: readonly string[]): readonly Trap[] {
  return keys
    .filter((key) => typeof Reflect.get(target, key) === 'function')
    .map((key) => ({ target, key, call: `${prefix}${key}()`, instead }))
}

/** The functions of a module, without its classes. */
function functionsOf(module: object, prefix: string): readonly Trap[] {
  return named(
    module,
    prefix,
    IO,
    Object.keys(module).filter((key) => /^[a-z]/.test(key)),
  )
}
