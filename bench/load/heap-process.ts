/** Prints the kilobytes of heap per client of a kind: the slope between a few clients and many. */
import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request, type RequestOptions } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { KubeConfig } from '@kubernetes/client-node'
import { Controller, createManager, type ProcessManager, type Term } from 'tenure'
import type { HeapSubject } from './follower-heap.ts'

const FEW = 10
const MANY = 60

const [subject, kubeConfigPath = '', lease = ''] = process.argv.slice(2)
const kubeConfigText = await readFile(kubeConfigPath, 'utf8')

class Idle extends Controller {
  override readonly name = 'idle'

  override async run(term: Term): Promise<void> {
    await term.sleep(86_400_000)
  }
}

const kept: unknown[] = []
const few = await heapWith(FEW)
const many = await heapWith(MANY)
console.log(((many - few) / (MANY - FEW) / 1024).toFixed(2))
process.exit(0)

async function heapWith(count: number): Promise<number> {
  if ((subject as HeapSubject) === 'leading') await leadMany(count)
  else while (kept.length < count) kept.push((subject as HeapSubject) === 'bare' ? await bare() : await follower())
  // Twice the interval of the check for silent watches, because the memory of that check counts.
  await sleep(3000)
  for (let pass = 0; pass < 4; pass++) {
    globalThis.gc?.()
    await sleep(50)
  }
  return process.memoryUsage().heapUsed
}

function kubeConfig(): KubeConfig {
  const config = new KubeConfig()
  config.loadFromString(kubeConfigText)
  return config
}

/** One connection with one watch on it, and a function that gets the events. */
async function bare(): Promise<unknown> {
  const config = kubeConfig()
  const tls: RequestOptions = {}
  await config.applyToHTTPSOptions(tls)
  const agent = new Agent({ keepAlive: true, ca: tls.ca, cert: tls.cert, key: tls.key })
  const query = `?watch=true&fieldSelector=metadata.name=${lease}`
  const path = `/apis/coordination.k8s.io/v1/namespaces/default/leases${query}`
  const seen: { last?: unknown } = {}
  const sent = request(new URL(path, config.getCurrentCluster()?.server), { agent })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) seen.last = JSON.parse(line)
  })
  return { config, agent, sent, response, seen }
}

async function follower(): Promise<ProcessManager> {
  const manager = manage(lease, kubeConfig())
  void manager.start()
  await following(manager)
  return manager
}

/** One process that leads this many leases. */
async function leadMany(count: number): Promise<void> {
  const manager = manage(`${lease}-${count}`, kubeConfig())
  for (let index = 1; index < count; index++) {
    manager.candidacy({ name: `${lease}-${count}-${index}`, namespace: 'default' }).register(() => new Idle())
  }
  for (const previous of kept.splice(0)) await (previous as ProcessManager).stop()
  kept.push(manager)
  void manager.start()
  while (!manager.candidacies.every(({ state }) => state.kind === 'leading')) await sleep(50)
}

function manage(name: string, config: KubeConfig): ProcessManager {
  const manager = createManager({
    identity: `${process.pid}-${kept.length}`,
    lease: { name, namespace: 'default' },
    kubeConfig: config,
    ops: false,
    signals: false,
    logLevel: 'error',
    env: {},
    argv: [],
  })
  manager.register(() => new Idle())
  return manager
}

async function following(manager: ProcessManager): Promise<void> {
  while (!(manager.state.kind === 'following' && manager.state.observedLeader !== undefined)) await sleep(5)
}
