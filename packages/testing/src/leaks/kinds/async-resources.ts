import { AsyncResource, createHook } from 'node:async_hooks'
import type { Description, Entry, TrackedThing } from '../ledger.ts'
import { currentOrigin, type Origin } from '../origin.ts'
import { takeTrace } from '../trace.ts'
import type { Tracker, TrackerContext } from '../tracker.ts'
import { isUnobserved } from '../unobserved.ts'
import { describeFileResource } from './file-resources.ts'
import { describeNetResource, isConnection, isIdleInSharedPool, isTlsGone } from './net-resources.ts'
import { describeOtherResource, isJobOver, isZlibGone } from './other-resources.ts'
import type { ResourceFacts } from './resource-facts.ts'
import { describeTimer, isTimerGone } from './timers.ts'

/**
 * Types that say nothing: promises and ticks end by themselves, signal watchers, observers and open files are seen as what they serve, and
 * the rest is memory without a handle.
 */
const IGNORED: ReadonlySet<string> = new Set([
  'PROMISE',
  'TickObject',
  'Microtask',
  'SIGNALWRAP',
  'ELDHISTOGRAM',
  'PerformanceObserver',
  'FILEHANDLE',
  'DIRHANDLE',
  'DNSCHANNEL',
  'HTTPINCOMINGMESSAGE',
  'HTTPCLIENTREQUEST',
  'JSSTREAM',
  'HTTP2SESSION',
  'HTTP2STREAM',
  'HTTP2SETTINGS',
  'HTTP2PING',
  'INSPECTORJSBINDING',
])

/**
 * Everything that Node tracks with async hooks: timers, sockets, servers, watchers, processes, threads, requests. Includes calls of
 * functions that were imported before the watch, and handles that were unref'd.
 */
export const trackAsyncResources: Tracker = (context) => {
  const { ledger } = context
  const entries = new Map<number, Entry>()
  const hook = createHook({
    // An option of newer releases of Node; older ones track them whatever it says, which makes every `await` several times slower.
    trackPromises: false,
    init(asyncId, type, triggerAsyncId, resource) {
      if (isUnobserved() || IGNORED.has(type) || resource instanceof AsyncResource) return
      const trace = takeTrace()
      const parent = entries.get(triggerAsyncId)
      entries.set(asyncId, enter(context, { type, resource: handleOf(resource), trace }, parent))
    },
    destroy(asyncId) {
      const entry = entries.get(asyncId)
      if (entry === undefined) return
      entries.delete(asyncId)
      ledger.remove(entry)
    },
  })
  hook.enable()
  return () => hook.disable()
}

function enter({ ledger, pools }: TrackerContext, facts: ResourceFacts, parent: Entry | undefined): Entry {
  const { type, trace } = facts
  const ref = new WeakRef(facts.resource)
  const thing: TrackedThing = {
    isAlive() {
      const resource = ref.deref()
      return resource !== undefined && !isGone({ type, resource, trace })
    },
    describe() {
      const resource = ref.deref()
      return resource === undefined ? undefined : describe({ type, resource, trace })
    },
    resource: { type, deref: () => ref.deref() },
    ...(isConnection(type) && {
      isSharedSince(serial) {
        const resource = ref.deref()
        return resource !== undefined && isIdleInSharedPool({ type, resource, trace }, pools, serial)
      },
    }),
  }
  return ledger.add(thing, { trace, origin: originOf(type, parent) })
}

/** A connection that an agent uses again is announced as if it were new, inside of something that holds it. */
function handleOf(resource: object): object {
  const handle: unknown = resource.constructor.name === 'ReusedHandle' ? Reflect.get(resource, 'handle') : undefined
  return typeof handle === 'object' && handle !== null ? handle : resource
}

/** An accepted connection has no user code on the stack. It belongs to the creator of the server. */
function originOf(type: string, parent: Entry | undefined): Origin {
  const origin = currentOrigin()
  const isAccepted = type === 'TCPWRAP' || type === 'PIPEWRAP'
  if (parent === undefined || !isAccepted) return origin
  return { ...parent.origin, ...origin, call: origin.call ?? parent.origin.call ?? parent.trace }
}

function isGone(facts: ResourceFacts): boolean {
  const { type, resource } = facts
  if (isTimerGone(resource)) return true
  if (type === 'TLSWRAP') return isTlsGone(resource)
  return type === 'ZLIB' ? isZlibGone(resource) : isJobOver(facts)
}

function describe(facts: ResourceFacts): Description | undefined {
  const description =
    describeTimer(facts) ?? describeNetResource(facts) ?? describeFileResource(facts) ?? describeOtherResource(facts)
  return description === 'nothing' ? undefined : description
}
