import { TracerProvider, ConsoleSpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace'
import { Controller, createManager, MemoryLeaseStore, type Term } from 'tenure'
import { traceTerms } from './trace-terms.ts'

/*
 * Leads until Ctrl+C and writes the span of each term to the console. A real program gets its provider from the SDK of OpenTelemetry for
 * Node, with an exporter of its own, and its lease from a cluster.
 */

class Janitor extends Controller {
  override readonly name = 'janitor'

  override async run(term: Term): Promise<void> {
    await term.every(1000, () => console.log('swept'))
  }
}

const provider = new TracerProvider({
  spanProcessors: [new SimpleSpanProcessor({ exporter: new ConsoleSpanExporter() })],
})
const store = new MemoryLeaseStore()
const manager = createManager({ lease: { name: 'janitor' }, lock: ({ name }) => store.lock(name), ops: false })
manager.register(() => new Janitor())
traceTerms(manager, provider.getTracer('janitor'))
await manager.start()
await provider.shutdown()
