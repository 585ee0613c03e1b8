import { fork } from 'node:child_process'
import { startApiServer } from '@tenure/testing'
import { KubeConfig, CoreV1Api } from '@kubernetes/client-node'
const t0 = performance.now()
const since = () => performance.now().toFixed(0)
const server = await startApiServer()
await server.writeKubeConfig('/tmp/demo-kc.yaml')
console.log('server', since())
const kc = new KubeConfig(); kc.loadFromString(server.kubeConfig())
await kc.makeApiClient(CoreV1Api).createNamespace({ body: { metadata: { name: 'demo' } } })
console.log('ns', since())
const kids = ['a','b','c'].map((name) => {
  const child = fork(new URL('./replica/main.ts', import.meta.url), [], { execArgv: ['--conditions=@tenure/source','--expose-gc'], serialization: 'advanced', stdio: ['ignore', process.argv[2]?'inherit':'ignore', 'inherit', 'ipc'], env: { ...process.env, POD_NAME: name } })
  child.send({ kind: 'stand', kubeConfigPath: '/tmp/demo-kc.yaml', namespace: 'demo' })
  let last = ''
  child.on('message', (m: any) => { if (m.kind==='holdings') { const s = JSON.stringify(m.holdings); if (s!==last) console.log(since(), name, s); last = s } else console.log(since(), name, m.kind, m.state ?? m.epoch, m.text ?? m.drainMs ?? '', m.tasks ?? '') })
  child.on('exit', (c, s) => console.log(since(), name, 'exit', c, s))
  return child
})
const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms))
await sleep(3000)
for (let i = 0; i < 5; i++) { for (const k of kids) k.send({ kind: 'step-down' }); await sleep(1500) }
await sleep(6000)
for (const k of kids) k.send({ kind: 'get-stuck' })
for (const k of kids) k.send({ kind: 'step-down' })
await sleep(7000)
for (const k of kids) if (k.connected) k.send({ kind: 'stop' })
await sleep(1000)
await server.stop()
