import { watchForLeaks } from '@tenure/testing/leaks'
import { grow, prepare } from './planted.ts'

await prepare()
const leaks = watchForLeaks()
await grow()
const error: unknown = await leaks.assertNone().catch((error: unknown) => error)
if (error instanceof Error) console.log(error.message)
process.exit(error === undefined ? 0 : 1)
