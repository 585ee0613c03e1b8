/** The environment without what `npm run` puts into it, which would reach the package managers, and without what Tenure reads. */
export function plainEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|INIT_CWD$|TENURE_|KUBECONFIG$|NODE_OPTIONS$)/.test(name),
  )
  return { ...Object.fromEntries(kept), ...more }
}
