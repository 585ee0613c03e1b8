import { parseArgs } from 'node:util'
import {
  HttpMethod,
  KubeConfig,
  RequestContext,
  ResponseContext,
  wrapHttpLibrary,
  type HttpLibrary,
} from '@kubernetes/client-node'
import { gatedFetch } from '@tenure/core'
import { systemClock, WriteGate } from '@tenure/core/internal'
import { runGateCases, seededRandom } from '../packages/core/test/gate/gate-cases.ts'
import { Leadership } from '../packages/core/src/term/leadership.ts'
import { createStamp } from '../packages/kubernetes/src/gate/epoch-stamp.ts'
import { gatedHttpLibrary } from '../packages/kubernetes/src/gate/gated-http-library.ts'
import { SharedDispatcher } from '../packages/kubernetes/src/gate/shared-dispatcher.ts'
import { percentile, writeFigures } from './figures.ts'
import { measureStamps } from './gate/stamp-bodies.ts'

/*
 * The write gate: the time that it adds to a request with a transport in memory, the time of a stamp by the size of the body, and how
 * many random writes the gate lets through outside their term.
 */
const OVERHEAD_LIMIT_US = 2

/** The calls of one batch. */
const CALLS = 100

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    cases: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
    // Reports a slow gate without failing, for a busy machine.
    lenient: { type: 'boolean', default: false },
  },
})
const [cases, seed] = [Number(values.cases), Number(values.seed)]
if (!Number.isInteger(cases) || cases < 1 || !Number.isInteger(seed)) {
  console.error(`Expected \`--cases\` and \`--seed\` to be whole numbers, got \`${values.cases}\`, \`${values.seed}\``)
  process.exit(2)
}

const leadership = new Leadership({ epoch: 1n, lease: 'bench', validUntil: Infinity, clock: systemClock })
const gate = new WriteGate(leadership)
const connections = new SharedDispatcher(new KubeConfig(), gate)
const response = new ResponseContext(200, {}, { text: async () => '', binary: async () => Buffer.alloc(0) } as never)
const inMemory: HttpLibrary = wrapHttpLibrary({ send: async () => response })
const gatedInMemory = gatedHttpLibrary(inMemory, { gate, connections, stamp: undefined })
const stamp = createStamp({ 'tenure.dev/epoch': '123456', 'tenure.dev/lease': 'janitor' })
const stamping = gatedHttpLibrary(inMemory, { gate, connections, stamp: () => stamp })
const BODY = JSON.stringify({ metadata: { name: 'x', namespace: 'ops', resourceVersion: '1' }, data: { count: '1' } })

const bare = await microseconds((request) => inMemory.send(request).toPromise())
const answer = new Response()
const plainFetch: typeof fetch = async () => answer
const sendGated = gatedFetch(leadership, plainFetch)
const POST = { method: 'POST', body: BODY }
const bareFetch = await microseconds(() => plainFetch('http://service.test/', POST))
const overheads = {
  'gate.overhead_us': (await microseconds((request) => gatedInMemory.send(request).toPromise())) - bare,
  'gate.stamp_overhead_us': (await microseconds((request) => stamping.send(request).toPromise())) - bare,
  'gate.read_overhead_us':
    (await microseconds((request) => gatedInMemory.send(request).toPromise(), HttpMethod.GET)) - bare,
  'gate.fetch_overhead_us': (await microseconds(() => sendGated('http://service.test/', POST))) - bareFetch,
}
leadership.closeGate('superseded')
console.log(`a bare call takes ${bare.toFixed(2)} µs, a bare fetch ${bareFetch.toFixed(2)} µs; the gate adds:`)
for (const [name, value] of Object.entries(overheads))
  console.log(`${name.padEnd(28)}${value.toFixed(2).padStart(8)} µs`)

const stamps = measureStamps([1, 10, 130, 1000], 20)
console.log('a stamp takes, in the text of the body and by a parser:')
for (const { kilobytes, splicedUs, parsedUs } of stamps)
  console.log(
    `${`${kilobytes} KB`.padEnd(28)}${splicedUs.toFixed(1).padStart(8)} µs${parsedUs.toFixed(1).padStart(10)} µs`,
  )

const counts = await runGateCases(cases, seededRandom(seed))
console.log(`random requests with seed ${seed}:`, counts)
await writeFigures(values.json, {
  ...overheads,
  ...Object.fromEntries(stamps.map(({ kilobytes, splicedUs }) => [`gate.stamp_${kilobytes}kb_us`, splicedUs])),
  'gate.cases': counts.requests,
  'gate.let_through': counts.letThrough,
  'gate.wrongly_refused': counts.wronglyRefused + counts.wrongOutcome,
})
const isWrong = counts.letThrough + counts.wronglyRefused + counts.wrongOutcome > 0
if (isWrong) console.error('Expected the gate to refuse every write outside its term, and no write within it')
const isSlow = Math.max(overheads['gate.overhead_us'], overheads['gate.stamp_overhead_us']) > OVERHEAD_LIMIT_US
if (isSlow)
  console.error(`Expected the gate, with a stamp or without, to add at most ${OVERHEAD_LIMIT_US} µs to a request`)
process.exitCode = isWrong || (isSlow && !values.lenient) ? 1 : 0

/** The time of one call: the median over batches that are short enough to run without interruption. */
async function microseconds(
  call: (request: RequestContext) => Promise<unknown>,
  method: HttpMethod = HttpMethod.PUT,
): Promise<number> {
  const samples: number[] = []
  for (let batch = 0; batch < 900; batch++) {
    const requests = Array.from({ length: CALLS }, () => {
      const request = new RequestContext('https://127.0.0.1/api/v1/namespaces/ops/configmaps/x', method)
      request.setHeaderParam('Content-Type', 'application/json')
      request.setBody(BODY)
      return request
    })
    const start = performance.now()
    for (const request of requests) await call(request)
    if (batch >= 100) samples.push((1000 * (performance.now() - start)) / CALLS)
  }
  return percentile(samples, 0.5)
}
