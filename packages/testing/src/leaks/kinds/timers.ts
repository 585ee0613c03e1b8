import type { LeakKind } from '../leak-kind.ts'
import { type Described, isRefOf, nodeModulesOf, type ResourceFacts } from './resource-facts.ts'

/** Modules that set timers for their callers. Other modules of Node clean up their own timers. */
const PUBLIC = new Set(['node:timers/promises', 'node:internal/abort_controller'])
const PLUMBING = new Set([
  '',
  'node:internal/async_hooks',
  'node:internal/timers',
  'node:timers',
  'node:internal/util',
  'node:internal/process/task_queues',
])

/** Timeouts, intervals, immediates, and what is built upon them. */
export function describeTimer({ type, resource, trace }: ResourceFacts): Described {
  if (type !== 'Timeout' && type !== 'Immediate') return undefined
  const setter = nodeModulesOf(trace).find((module) => !PLUMBING.has(module))
  if (setter !== undefined && !PUBLIC.has(setter)) return 'nothing'
  return {
    kind: kindOf(type, setter, resource),
    detail: detailOf(resource),
    isRef: isRefOf(resource),
  }
}

/** Whether a timer has been cleared or has fired for the last time. */
export function isTimerGone(resource: object): boolean {
  return Reflect.get(resource, '_destroyed') === true
}

function kindOf(type: string, setter: string | undefined, resource: object): LeakKind {
  if (setter === 'node:internal/abort_controller') return 'abort-timeout'
  const isRepeated = typeof Reflect.get(resource, '_repeat') === 'number'
  if (isRepeated) return 'interval'
  if (setter === 'node:timers/promises') return 'sleep'
  return type === 'Immediate' ? 'immediate' : 'timeout'
}

function detailOf(resource: object): string {
  const delay: unknown = Reflect.get(resource, '_idleTimeout')
  return typeof delay === 'number' && delay >= 0 ? `${delay} ms` : ''
}
