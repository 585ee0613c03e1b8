import { createStamp, stampBody } from '../../packages/kubernetes/src/gate/epoch-stamp.ts'
import { percentile } from '../figures.ts'

/** The median of one stamp in microseconds: in the text of the body, and by JSON.parse() and JSON.stringify(). */
export interface StampFigures {
  readonly kilobytes: number
  readonly splicedUs: number
  readonly parsedUs: number
}

const stamp = createStamp({ 'tenure.dev/epoch': '123456', 'tenure.dev/lease': 'janitor' })

/** Measures the stamp of Deployments of these sizes. The two ways alternate, so that a busy machine slows both. */
export function measureStamps(sizesInKilobytes: readonly number[], seconds: number): StampFigures[] {
  return sizesInKilobytes.map((kilobytes) => {
    const body = deployment(1000 * kilobytes)
    // Whitespace is what the splice leaves to the parser.
    const spaced = ` ${body}`
    const spliced: number[] = []
    const parsed: number[] = []
    const end = performance.now() + (1000 * seconds) / sizesInKilobytes.length
    const calls = Math.ceil(100 / kilobytes)
    while (performance.now() < end) {
      spliced.push(microseconds(body, calls))
      parsed.push(microseconds(spaced, calls))
    }
    return { kilobytes, splicedUs: percentile(spliced, 0.5), parsedUs: percentile(parsed, 0.5) }
  })
}

function microseconds(body: string, calls: number): number {
  const start = performance.now()
  for (let call = 0; call < calls; call++) {
    const stamped = stampBody({ method: 'PUT', headers: {}, body }, stamp)
    // What sends the body reads all of it once.
    if (stamped === undefined || Buffer.byteLength(stamped.body) <= body.length) throw new Error('Expected a stamp')
  }
  return (1000 * (performance.now() - start)) / calls
}

/** A Deployment with as many containers as it takes. */
function deployment(size: number): string {
  const containers: object[] = []
  const metadata = { name: 'x', namespace: 'ops', resourceVersion: '1', annotations: { 'example.com/owner': 'ops' } }
  const text = () => JSON.stringify({ metadata, spec: { template: { spec: { containers } } } })
  const perContainer = JSON.stringify(container(0)).length + 1
  while (perContainer * containers.length < size) containers.push(container(containers.length))
  return text()
}

function container(index: number): object {
  return {
    name: `container-${index}`,
    image: `registry.example.com/app/worker:${index}`,
    env: [
      { name: 'LOG_LEVEL', value: 'info' },
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ],
    resources: { limits: { cpu: '500m', memory: '128Mi' } },
    ports: [{ containerPort: 8080, protocol: 'TCP' }],
  }
}
