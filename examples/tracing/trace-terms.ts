import { isSpanContextValid, type Span, type SpanContext, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { type CandidacyEvent, Controller, type EndReason, type ProcessManager, type Term } from 'tenure'

type Ended = Extract<CandidacyEvent, { readonly kind: 'term-over' }>

/** Why a term ends if somebody wanted it to. */
const ASKED_FOR: readonly EndReason[] = ['shutdown', 'step-down', 'transferred']

/** A controller lasts as long as its term. This one has nothing else to do. */
const DAY_MS = 86_400_000

/**
 * Makes every term of the manager a span, which is linked to that of the term before. Drain, wedged drain, release and transfer are its events.
 * The span fails if nobody asked for the end of the term, or its drain was wedged. Call it before `start()`.
 */
export function traceTerms(manager: ProcessManager, tracer: Tracer): void {
  const spans = new Map<string, Span>()
  manager.use({
    name: 'tracing',
    onEvent(event) {
      if (event.kind === 'term-began') spans.set(event.lease, begin(tracer, event))
      const span = spans.get(event.lease)
      if (span === undefined) return
      record(span, event)
      if (event.kind === 'term-over') spans.delete(event.lease)
    },
    stop() {
      // A term that has not ended by now does not end before the process.
      for (const span of spans.values()) span.end()
    },
  })
  for (const candidacy of manager.candidacies) {
    candidacy.register(() => new SpanBequest(() => spans.get(candidacy.lease)))
  }
}

/** Finds the span of the term before in what that term left, and leaves the span of its own. */
class SpanBequest extends Controller {
  override readonly name = 'tracing'
  readonly #spanOf: () => Span | undefined

  constructor(spanOf: () => Span | undefined) {
    super()
    this.#spanOf = spanOf
  }

  override async run(term: Term): Promise<void> {
    const span = this.#spanOf()
    const { inherited } = term
    if (inherited !== undefined && isSpanContext(inherited.value)) {
      const { traceId, spanId, traceFlags } = inherited.value
      span?.addLink({
        context: { traceId, spanId, traceFlags, isRemote: true },
        attributes: { 'tenure.epoch': String(inherited.epoch) },
      })
    }
    if (span !== undefined) {
      const { traceId, spanId, traceFlags } = span.spanContext()
      term.bequeath({ traceId, spanId, traceFlags })
    }
    await term.every(DAY_MS, () => {})
  }
}

/** Every client that may write the lease can write this value. */
function isSpanContext(value: unknown): value is SpanContext {
  return typeof value === 'object' && value !== null && isSpanContextValid(value as SpanContext)
}

function begin(tracer: Tracer, event: Extract<CandidacyEvent, { readonly kind: 'term-began' }>): Span {
  const { lease, epoch, handoverMs } = event
  const attributes = { 'tenure.lease': lease, 'tenure.epoch': String(epoch), 'tenure.handover_ms': handoverMs }
  return tracer.startSpan('term', { root: true, attributes })
}

function record(span: Span, event: CandidacyEvent): void {
  switch (event.kind) {
    case 'term-ending':
      span.addEvent('drain', { 'tenure.reason': event.reason })
      break
    case 'wedged':
      span.addEvent('wedged', { 'tenure.tasks': event.tasks.map(({ controller, name }) => `${controller}: ${name}`) })
      span.setStatus({ code: SpanStatusCode.ERROR, message: 'the drain is wedged' })
      break
    case 'term-over':
      end(span, event)
      break
    default:
  }
}

function end(span: Span, { reason, outcome, successor, drain, drainMs }: Ended): void {
  if (outcome === 'released') span.addEvent('release')
  if (outcome === 'transferred') span.addEvent('transfer', { 'tenure.successor': successor ?? '' })
  span.setAttributes({
    'tenure.reason': reason,
    'tenure.outcome': outcome,
    'tenure.drain': drain,
    'tenure.drain_ms': drainMs,
  })
  if (!ASKED_FOR.includes(reason)) span.setStatus({ code: SpanStatusCode.ERROR, message: `the term ended: ${reason}` })
  span.end()
}
