import { request } from 'node:http'
import {
  type CandidacyEvent,
  type CandidacyState,
  Controller,
  Manager,
  type ManagerOptions,
  MemoryLeaseStore,
  type Term,
} from '@tenure/core'
import { createOps, type Ops, type OpsOptions } from '@tenure/ops'

/** A manager with an operations port on a free port of the loopback interface, standing for leases in memory. */
export interface ManagedOps extends AsyncDisposable {
  readonly manager: Manager
  readonly ops: Ops
  readonly store: MemoryLeaseStore
  readonly events: readonly CandidacyEvent[]
  /** Starts the manager; resolves when its port is open and it stands for election. */
  start(): Promise<void>
  /** Resolves when the candidacy for the manager's own lease is in a state of this kind. */
  state(kind: CandidacyState['kind']): Promise<void>
  /** Resolves when an event fits that has not happened before. */
  event(fits: (event: CandidacyEvent) => boolean): Promise<CandidacyEvent>
  get(path: string, method?: string): Promise<Answer>
}

/** An answer over HTTP. */
export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: NodeJS.Dict<string | string[]>
}

/** What may differ between managers. */
export interface ManagedOptions {
  readonly identity?: string
  readonly store?: MemoryLeaseStore
  readonly manager?: Partial<ManagerOptions>
  readonly ops?: Partial<OpsOptions>
  readonly controllers?: readonly (() => Controller)[]
}

/** Makes a manager with an operations port. */
export function manage(options: ManagedOptions = {}): ManagedOps {
  const { store = new MemoryLeaseStore() } = options
  const ops = createOps({ port: 0, host: '127.0.0.1', processMetrics: false, ...options.ops })
  const manager = new Manager({
    identity: options.identity ?? 'replica-a',
    lease: { name: 'janitor' },
    createLock: ({ name }) => store.lock(name),
    ...options.manager,
  })
  const events: CandidacyEvent[] = []
  manager.use(ops)
  manager.on((event) => events.push(event))
  for (const controller of options.controllers ?? []) manager.register(controller)
  let running = Promise.resolve()
  const event: ManagedOps['event'] = (fits) => nextEvent(manager, fits)
  const state: ManagedOps['state'] = async (kind) => {
    if (manager.state.kind !== kind) await event((next) => next.kind === 'state' && next.to.kind === kind)
  }
  return {
    manager,
    ops,
    store,
    events,
    event,
    state,
    get: (path, method) => get(ops, path, method),
    async start() {
      const began = event((next) => next.kind === 'state')
      running = manager.start()
      await Promise.race([began, running])
    },
    async [Symbol.asyncDispose]() {
      await manager.stop()
      await running
    },
  }
}

function nextEvent(manager: Manager, fits: (event: CandidacyEvent) => boolean): Promise<CandidacyEvent> {
  const { promise, resolve } = Promise.withResolvers<CandidacyEvent>()
  const end = manager.on((event) => {
    if (!fits(event)) return
    end()
    resolve(event)
  })
  return promise
}

/** Asks the operations port, on a connection that is not kept. */
export function get({ address }: Pick<Ops, 'address'>, path: string, method = 'GET'): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = request({ ...address, path, method, agent: false }, (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('error', reject)
    response.on('end', () =>
      resolve({
        status: response.statusCode ?? 0,
        body: Buffer.concat(chunks).toString('utf8'),
        headers: response.headers,
      }),
    )
  })
  sent.on('error', reject)
  sent.end()
  return promise
}

/** A controller whose run is a function. It lasts as long as its term. */
export function controller(name: string, run: (term: Term) => unknown = () => {}): () => Controller {
  return () =>
    new (class extends Controller {
      override readonly name = name

      override async run(term: Term): Promise<void> {
        await run(term)
        await untilAborted(term.signal)
      }
    })()
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (signal.aborted) resolve()
  else signal.addEventListener('abort', () => resolve(), { once: true })
  return promise
}

/** The lines of a page that begin with one of the names, comments left out. */
export function samples(page: string, ...names: string[]): readonly string[] {
  return page.split('\n').filter((line) => names.some((name) => line.startsWith(name)))
}
