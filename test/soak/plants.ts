import { EventEmitter } from 'node:events'
import { openSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { Counter } from 'prom-client'
import type { HealthRegistry, Term } from '@tenure/core'
import { bus, root } from './controllers.ts'

/** The context of a plant. */
export interface PlantContext {
  readonly term: Term
  /** The port of a server that accepts connections. */
  readonly port: number
  /** A registry of health checks that exists as long as the process. */
  readonly health: HealthRegistry
}

const kept: unknown[] = []
const byEpoch = new Map<bigint, string>()
const forever = new Promise<void>(() => {})
const emitter = new EventEmitter().setMaxListeners(0)

/** Planted leaks, one per term. Leaks of memory have 1 KB, and the leak of the map has half of that. */
export const plants: Readonly<Record<string, (context: PlantContext) => unknown>> = {
  none: () => {},
  heap: () => kept.push(Array.from({ length: 128 }, () => Math.random())),
  buffer: () => kept.push(Buffer.allocUnsafeSlow(1024)),
  map: ({ term }) => byEpoch.set(term.epoch, `${term.epoch}`.padEnd(1024, String(Math.random()))),
  term: ({ term }) => kept.push(term),
  reaction: ({ term }) => void forever.then(() => term.controller),
  listener: () => bus.on('tick', () => {}),
  'process-listener': () => process.setMaxListeners(0).on('warning', () => {}),
  'abort-listener': () => root.signal.addEventListener('abort', () => {}),
  'own-emitter': () => emitter.on('tick', () => {}),
  timer: () => void setTimeout(() => {}, 3_600_000),
  'unref-timer': () => void setTimeout(() => {}, 3_600_000).unref(),
  socket: ({ port }) => void kept.push(quietSocket(port)),
  'unref-socket': ({ port }) => void kept.push(quietSocket(port).unref()),
  descriptor: () => openSync('/dev/null', 'r'),
  metric: ({ term }) => new Counter({ name: `leaked_${term.epoch}_total`, help: 'Leaked.' }),
  'health-check': ({ term, health }) => health.register(`leaked-${term.epoch}`, () => {}),
}

function quietSocket(port: number): Socket {
  return connect(port, '127.0.0.1').on('error', () => {})
}
