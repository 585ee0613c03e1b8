/** A kind of leak. The names are stable, for use in ignore lists and metrics. */
export type LeakKind =
  | 'timeout'
  | 'interval'
  | 'immediate'
  | 'sleep'
  | 'abort-timeout'
  | 'async-loop'
  | 'request'
  | 'process-listener'
  | 'event-listener'
  | 'event-target-listener'
  | 'abort-listener'
  | 'task'
  | 'health-check'
  | 'metric'
  | 'term'
  | 'controller'
  | 'owned-object'
  | 'kept-object'
  | 'http-server'
  | 'tls-server'
  | 'tcp-server'
  | 'unix-server'
  | 'datagram-socket'
  | 'tcp-socket'
  | 'tls-socket'
  | 'unix-socket'
  | 'accepted-socket'
  | 'keep-alive-socket'
  | 'fs-watcher'
  | 'file-handle'
  | 'directory-handle'
  | 'file-descriptor'
  | 'file'
  | 'child-process'
  | 'worker'
  | 'message-port'
  | 'broadcast-channel'
  | 'async-hook'
  | 'performance-observer'
  | 'event-loop-monitor'
  | 'diagnostics-subscriber'
  | 'performance-entry'
  | 'inspector'
  | 'module-hook'
  | 'wait'
  | 'object-url'
  | 'stream-lock'
  | 'temporary-directory'
  | 'global'
  | 'process-state'
  | 'handle'

/** The texts of a kind of leak. */
interface KindFacts {
  /** The readable name. */
  readonly title: string
  /** How to fix it, in one line. */
  readonly fix: string
}

const SOCKET_FIX = 'end or destroy it when `term.signal` aborts'
const LISTENER_FIX = '`removeEventListener()` it in `term.defer()`'

/** Every kind of leak, with its readable name and its fix. */
const KINDS: Readonly<Record<LeakKind, KindFacts>> = {
  timeout: { title: 'timeout', fix: '`clearTimeout()` it in `term.defer()`, or wait with `term.sleep()`' },
  interval: { title: 'interval', fix: '`clearInterval()` it in `term.defer()`, or use `term.every()`' },
  immediate: {
    title: 'immediate',
    fix: '`clearImmediate()` it, or check `term.signal.aborted` before setting the next one',
  },
  sleep: { title: 'sleep of `timers/promises`', fix: 'give it `{ signal: term.signal }`, or use `term.sleep()`' },
  'abort-timeout': {
    title: '`AbortSignal.timeout()`',
    fix: 'it cannot be cleared: abort an `AbortController` from a timer that you clear, or keep no reference to the signal',
  },
  'async-loop': {
    title: 'detached async loop',
    fix: 'run it with `term.spawn()` or `term.every()` and leave it when `signal.aborted`',
  },
  request: { title: 'request in flight', fix: 'await it inside a task of `term.spawn()`, and give it `signal`' },
  'process-listener': { title: 'listener on `process`', fix: 'remove it with `process.off()` in `term.defer()`' },
  'event-listener': { title: 'listener on an EventEmitter', fix: 'remove it with `emitter.off()` in `term.defer()`' },
  'event-target-listener': { title: 'listener on an EventTarget', fix: LISTENER_FIX },
  'abort-listener': {
    title: 'listener on an AbortSignal that outlives it',
    fix: `listen to \`term.signal\` instead, or ${LISTENER_FIX}`,
  },
  task: {
    title: 'task that never settled',
    fix: 'make the task settle when its `signal` aborts: pass the signal on to whatever it waits for',
  },
  'health-check': {
    title: 'health check left registered',
    fix: 'register it on `term.health`, or call the function that `register()` returned in `term.defer()`',
  },
  metric: {
    title: 'metric left registered',
    fix: 'define it with `registers: [metrics(term)]`, or `removeSingleMetric()` it in `term.defer()`',
  },
  term: {
    title: 'Term still reachable after garbage collection',
    fix: 'drop the reference in `term.defer()`: a closure, array or map that outlives the term holds it',
  },
  controller: {
    title: 'Controller still reachable after garbage collection',
    fix: 'drop the reference in `term.defer()`: something that outlives the term holds it',
  },
  'owned-object': {
    title: 'object of a term still reachable after garbage collection',
    fix: 'drop the reference in `term.defer()`: something that outlives the term holds it, one more every term',
  },
  'kept-object': {
    title: 'object still reachable after garbage collection',
    fix: 'drop the last reference to it',
  },
  'http-server': { title: 'HTTP server', fix: '`server.close()` and `server.closeAllConnections()` in `term.defer()`' },
  'tls-server': { title: 'TLS server', fix: 'close it in `term.defer()`' },
  'tcp-server': { title: 'TCP server', fix: 'close it in `term.defer()`' },
  'unix-server': { title: 'server on a unix socket', fix: 'close it in `term.defer()`' },
  'datagram-socket': { title: 'UDP socket', fix: 'close it in `term.defer()`' },
  'tcp-socket': { title: 'TCP socket', fix: SOCKET_FIX },
  'tls-socket': { title: 'TLS socket', fix: SOCKET_FIX },
  'unix-socket': { title: 'unix socket or pipe', fix: SOCKET_FIX },
  'accepted-socket': { title: 'connection of a server', fix: '`closeAllConnections()` when the server closes' },
  'keep-alive-socket': {
    title: 'connection kept alive in a pool',
    fix: 'use an Agent or Dispatcher of the term and `destroy()` it in `term.defer()`',
  },
  'fs-watcher': {
    title: 'file system watcher',
    fix: 'close it in `term.defer()`, or give it `{ signal: term.signal }`',
  },
  'file-handle': { title: 'open FileHandle', fix: 'open it with `await using`, or close it in `finally`' },
  'directory-handle': { title: 'open directory handle', fix: 'open it with `await using`, or close it in `finally`' },
  'file-descriptor': {
    title: 'open file descriptor',
    fix: '`fs.close()` it, or destroy its stream, in `term.defer()`',
  },
  file: {
    title: 'file or folder left on disk',
    fix: 'remove it in `term.defer()` with `rm(path, { recursive: true })`, or keep it out of the working directory',
  },
  'child-process': { title: 'child process', fix: 'give it `{ signal: term.signal }`, or kill it in `term.defer()`' },
  worker: { title: 'worker thread', fix: '`await worker.terminate()` in `term.defer()`' },
  'message-port': { title: 'MessagePort', fix: 'close it in `term.defer()`' },
  'broadcast-channel': { title: 'BroadcastChannel', fix: 'close it in `term.defer()`' },
  'async-hook': { title: 'enabled async hook', fix: '`disable()` it in `term.defer()`' },
  'performance-observer': {
    title: 'PerformanceObserver',
    fix: '`disconnect()` it in `term.defer()`; call `collectDefaultMetrics()` once per process, not per term',
  },
  'event-loop-monitor': {
    title: 'event loop delay monitor',
    fix: '`disable()` it in `term.defer()`; call `collectDefaultMetrics()` once per process, not per term',
  },
  'diagnostics-subscriber': {
    title: 'subscriber of a diagnostics channel',
    fix: '`unsubscribe()` (or `unbindStore()`) it in `term.defer()`',
  },
  'performance-entry': {
    title: 'entry of the performance timeline',
    fix: '`performance.clearMarks()` or `performance.clearMeasures()` it in `term.defer()`',
  },
  inspector: { title: 'inspector', fix: '`session.disconnect()` or `inspector.close()` in `term.defer()`' },
  'module-hook': { title: 'hook of the module loader', fix: '`deregister()` it in `term.defer()`' },
  wait: {
    title: 'wait that is not over',
    fix: 'let go of the lock, or give the wait a timeout or `{ signal: term.signal }`',
  },
  'object-url': { title: 'object URL', fix: '`URL.revokeObjectURL()` it in `term.defer()`' },
  'stream-lock': {
    title: 'lock of a web stream that is still reachable',
    fix: '`releaseLock()` it, or close or cancel the stream, in `term.defer()`',
  },
  'temporary-directory': {
    title: 'temporary directory',
    fix: 'remove it in `term.defer()` with `rm(path, { recursive: true })`',
  },
  global: {
    title: 'global or built-in that was added or replaced',
    fix: 'put back in `term.defer()` what was there before',
  },
  'process-state': {
    title: 'state of the process that was changed',
    fix: 'put back in `term.defer()` what was there before',
  },
  handle: { title: 'open handle', fix: 'close it in `term.defer()`' },
}

/** Every {@link LeakKind}. */
export const LEAK_KINDS: readonly LeakKind[] = Object.keys(KINDS) as LeakKind[]

/** The readable name of a kind. */
export function titleOf(kind: LeakKind): string {
  return KINDS[kind].title
}

/** How to fix a leak of this kind, in one line. */
export function fixOf(kind: LeakKind): string {
  return KINDS[kind].fix
}
