import { grow, prepare } from './planted.ts'

await prepare()
// It records from its import on.
const { default: whyIsNodeRunning } = await import('why-is-node-running')
await grow()
whyIsNodeRunning({ error: (line) => console.log(line) })
process.exit(0)
