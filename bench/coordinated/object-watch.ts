import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import * as https from 'node:https'
import { json } from 'node:stream/consumers'
import type { ControlPlane } from '@tenure/test-control-plane'
import { NAMESPACE } from './candidate.ts'

/** A Lease or a LeaseCandidate, as far as this bench reads it. */
interface SeenObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string }
  readonly spec?: { readonly holderIdentity?: string; readonly leaseName?: string }
}

const PATHS = {
  leases: `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`,
  leasecandidates: `/apis/coordination.k8s.io/v1beta1/namespaces/${NAMESPACE}/leasecandidates`,
}

/** An independent watch of all objects of one kind in the namespace, separate from all candidates. */
export class ObjectWatch implements Disposable {
  readonly #agent: https.Agent
  readonly #seen: SeenObject[] = []

  private constructor(agent: https.Agent) {
    this.#agent = agent
  }

  /** Begins with the versions to come. */
  static async open(server: ControlPlane, kind: keyof typeof PATHS): Promise<ObjectWatch> {
    const { url, caCert, cert, key } = server.access({ name: 'observer', groups: ['system:masters'] })
    const agent = new https.Agent({ keepAlive: true, ca: caCert, cert, key })
    const ask = async (query: string) => {
      const sent = https.get(new URL(PATHS[kind] + query, url), { agent })
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      return answer
    }
    const list = (await json(await ask(''))) as SeenObject
    const watch = new ObjectWatch(agent)
    watch.#read(await ask(`?watch=true&resourceVersion=${list.metadata.resourceVersion}`))
    return watch
  }

  /** The holders of a lease in order, without gaps and repetitions. */
  holders(lease: string): readonly string[] {
    const all = this.#seen.filter(({ metadata }) => metadata.name === lease)
    const named = all.map(({ spec }) => spec?.holderIdentity ?? '').filter((holder) => holder !== '')
    return named.filter((holder, index) => holder !== named[index - 1])
  }

  /** How many versions of a lease, or of the candidates for it, there were so far. Each is a write. */
  writes(lease: string): number {
    return this.#seen.filter(({ metadata, spec }) => metadata.name === lease || spec?.leaseName === lease).length
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  #read(events: IncomingMessage): void {
    let text = ''
    events.setEncoding('utf8')
    events.on('error', () => {})
    events.on('data', (chunk: string) => {
      const lines = (text + chunk).split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) this.#seen.push((JSON.parse(line) as { object: SeenObject }).object)
    })
  }
}
