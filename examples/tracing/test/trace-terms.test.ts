import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type SpanContext, SpanStatusCode } from '@opentelemetry/api'
import { TracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace'
import {
  type CandidacyEvent,
  Controller,
  createManager,
  MemoryLeaseStore,
  type ProcessManager,
  type Term,
} from 'tenure'
import { expect, test } from 'vitest'
import { traceTerms } from '../trace-terms.ts'

/** Works until its term ends. Its task lasts until it is let go. */
class Worker extends Controller {
  override readonly name = 'worker'
  readonly #release: Promise<void>

  constructor(release: Promise<void>) {
    super()
    this.#release = release
  }

  override async run(term: Term): Promise<void> {
    await term.every(1000, () => {})
    await this.#release
  }
}

/** Replicas of one lease in memory, and the spans of all of them. */
class Fleet {
  readonly store = new MemoryLeaseStore()
  readonly #exporter = new InMemorySpanExporter()
  readonly #provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: this.#exporter })] })

  replica(identity: string, release = Promise.resolve()): ProcessManager {
    const manager = createManager({
      identity,
      lease: { name: 'janitor', drainTimeoutMs: 50, abortGraceMs: 50 },
      lock: ({ name }) => this.store.lock(name),
      ops: false,
      signals: false,
      onWedged: 'hold',
      logLevel: 'silent',
      env: {},
      argv: [],
    })
    manager.register(() => new Worker(release))
    traceTerms(manager, this.#provider.getTracer('test'))
    return manager
  }

  /** The spans that have ended, oldest first. */
  get spans(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans()
  }
}

async function happened(manager: ProcessManager, kind: CandidacyEvent['kind']): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const forget = manager.on((event) => {
    if (event.kind === kind) resolve()
  })
  await promise
  forget()
}

const eventsOf = ({ events }: ReadableSpan) => events.map(({ name, attributes = {} }) => ({ name, ...attributes }))

const linksOf = ({ links }: ReadableSpan) =>
  links.map(({ context, attributes = {} }) => ({ spanId: context.spanId, traceId: context.traceId, ...attributes }))

const linkTo = (span: ReadableSpan | undefined, epoch: string) => {
  const { spanId, traceId }: Partial<SpanContext> = span?.spanContext() ?? {}
  return { spanId, traceId, 'tenure.epoch': epoch }
}

test('A term is a span with its epoch, and the next term of any replica is linked to it', async () => {
  const fleet = new Fleet()
  const [first, second] = [fleet.replica('a'), fleet.replica('b')]
  const [firstBegan, secondBegan] = [happened(first, 'term-began'), happened(second, 'term-began')]
  const running = [first.start()]
  await firstBegan
  running.push(second.start())
  await first.stop()
  await secondBegan
  await second.stop()
  await Promise.all(running)
  const [one, two] = fleet.spans
  expect(fleet.spans).toHaveLength(2)
  expect(one).toMatchObject({
    name: 'term',
    attributes: {
      'tenure.lease': 'janitor',
      'tenure.epoch': '1',
      'tenure.reason': 'shutdown',
      'tenure.outcome': 'released',
      'tenure.drain': 'clean',
    },
    links: [],
    status: { code: SpanStatusCode.UNSET },
  })
  expect(one && eventsOf(one)).toEqual([{ name: 'drain', 'tenure.reason': 'shutdown' }, { name: 'release' }])
  expect(Number(two?.attributes['tenure.epoch'])).toBeGreaterThan(1)
  expect(two && linksOf(two)).toEqual([linkTo(one, '1')])
  expect(two?.spanContext().traceId).not.toBe(one?.spanContext().traceId)
})

test('A transfer is an event that names the successor', async () => {
  const fleet = new Fleet()
  const [first, second] = [fleet.replica('a'), fleet.replica('b')]
  const [firstBegan, secondStands, secondBegan] = [
    happened(first, 'term-began'),
    happened(second, 'leader-observed'),
    happened(second, 'term-began'),
  ]
  const running = [first.start()]
  await firstBegan
  running.push(second.start())
  await secondStands
  await first.stepDown({ to: 'b' })
  await secondBegan
  await Promise.all([first.stop(), second.stop()])
  await Promise.all(running)
  const [one, two] = fleet.spans
  expect(one && eventsOf(one)).toEqual([
    { name: 'drain', 'tenure.reason': 'transferred' },
    { name: 'transfer', 'tenure.successor': 'b' },
  ])
  expect(one?.status).toEqual({ code: SpanStatusCode.UNSET })
  expect(two && linksOf(two)).toEqual([linkTo(one, '1')])
})

test('The span of a lost term fails, and has neither release nor transfer', async () => {
  const fleet = new Fleet()
  const manager = fleet.replica('a')
  const [began, over] = [happened(manager, 'term-began'), happened(manager, 'term-over')]
  const running = manager.start()
  await began
  fleet.store.delete('janitor')
  await over
  await manager.stop()
  await running
  const [lost] = fleet.spans
  expect(lost && eventsOf(lost)).toEqual([{ name: 'drain', 'tenure.reason': 'lease-deleted' }])
  expect(lost?.attributes['tenure.outcome']).toBe('lost')
  expect(lost?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'the term ended: lease-deleted' })
})

test('A wedged drain is an event that names the tasks, its span fails, and it ends with the release', async () => {
  const fleet = new Fleet()
  const { promise, resolve: release } = Promise.withResolvers<void>()
  const manager = fleet.replica('a', promise)
  const [began, wedged] = [happened(manager, 'term-began'), happened(manager, 'wedged')]
  const running = manager.start()
  await began
  const over = manager.stepDown()
  await wedged
  expect(fleet.spans).toEqual([])
  release()
  await over
  await manager.stop()
  await running
  const [span, ...others] = fleet.spans.filter(({ attributes }) => attributes['tenure.epoch'] === '1')
  expect(others).toEqual([])
  expect(span && eventsOf(span)).toEqual([
    { name: 'drain', 'tenure.reason': 'step-down' },
    { name: 'wedged', 'tenure.tasks': ['worker: run'] },
    { name: 'release' },
  ])
  expect(span?.attributes['tenure.drain']).toBe('wedged')
  expect(span?.attributes['tenure.outcome']).toBe('released')
  expect(span?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'the drain is wedged' })
})

/** Starts a manager with all that `tenure` has by default, and tells which packages of OpenTelemetry are loaded by then, and by which files. */
const PROGRAM = `
import { registerHooks } from 'node:module'
const found = new Set()
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('@opentelemetry/')) found.add(specifier + ' by ' + context.parentURL.split('node_modules/').at(-1).split('/')[0])
    return next(specifier, context)
  },
})
const { createManager, MemoryLeaseStore } = await import('tenure')
const store = new MemoryLeaseStore()
const manager = createManager({
  lease: { name: 'janitor' }, lock: ({ name }) => store.lock(name), ops: { port: false }, logLevel: 'silent', env: {}, argv: [],
})
const running = manager.start()
await manager.ops.metrics()
await manager.stop()
await running
console.log(JSON.stringify([...found]))
`

test('Without the recipe nothing of OpenTelemetry is loaded, but the interface that prom-client loads for itself', async () => {
  const args = ['--conditions=@tenure/source', '--input-type=module', '--eval', PROGRAM]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname })
  expect(JSON.parse(stdout)).toEqual(['@opentelemetry/api by prom-client'])
})
