/** A page of the site: its path without `.md`, and how the sidebar calls it. */
interface SidebarPage {
  readonly text: string
  readonly link: string
}

interface SidebarGroup {
  readonly text: string
  readonly collapsed?: boolean
  readonly items: readonly SidebarPage[]
}

const page = (text: string, link: string): SidebarPage => ({ text, link: `/${link}` })

/** Every page of the site, in reading order. `llms-full.txt` has the same order. */
export const SIDEBAR: readonly SidebarGroup[] = [
  {
    text: 'Start',
    items: [page('Get started', 'get-started'), page('Guide', 'guide')],
  },
  {
    text: 'Concepts',
    items: [
      page('Glossary', 'glossary'),
      page('Terms', 'terms'),
      page('Election', 'election'),
      page('Coordinated election', 'coordinated'),
      page('Locks', 'locks'),
      page('Guarantees', 'guarantees'),
    ],
  },
  {
    text: 'How to',
    items: [
      page('Add a web server', 'how-to/add-a-web-server'),
      page('Use Fastify', 'how-to/use-fastify'),
      page('Use Express', 'how-to/use-express'),
      page('Use NestJS', 'how-to/use-nestjs'),
      page('Define metrics', 'how-to/define-metrics'),
      page('Use a metrics registry', 'how-to/use-your-registry'),
      page('Trace terms', 'how-to/trace-terms'),
      page('Probe health', 'how-to/probe-health'),
      page('Use the command', 'how-to/use-the-command'),
      page('See terms live', 'how-to/see-terms-live'),
      page('Explain a replica', 'how-to/explain-a-replica'),
      page('Debug a stuck drain', 'how-to/debug-a-stuck-drain'),
      page('Test for leaks', 'how-to/test-for-leaks'),
      page('Prove a controller', 'how-to/prove-a-controller'),
      page('Run any program', 'how-to/run-any-program'),
      page('Deploy', 'how-to/deploy'),
      page('Roll out without a gap', 'how-to/roll-out-without-a-gap'),
      page('Authenticate', 'how-to/authenticate'),
      page('Hold many leases', 'how-to/hold-many-leases'),
      page('Prove death', 'how-to/prove-death'),
      page('Lead for life', 'how-to/lead-for-life'),
      page('Fence your own store', 'fencing'),
      page('Choose an elector', 'how-to/choose-an-elector'),
      page('Know who is there', 'how-to/know-who-is-there'),
      page('Keep endpoints', 'how-to/keep-endpoints'),
      page('Choose a lock', 'how-to/choose-a-lock'),
      page('Move to another lock', 'how-to/move-to-another-lock'),
      page('Restore the store', 'how-to/restore-the-store'),
      page('Write a lock', 'how-to/write-a-lock'),
      page('Simulate a fleet', 'simulator'),
      page('Bundle', 'how-to/bundle'),
    ],
  },
  {
    text: 'Operate',
    items: [page('Troubleshooting', 'troubleshooting'), page('Runbooks', 'runbooks')],
  },
  {
    text: 'Migrate',
    items: [
      page('From client-go and controller-runtime', 'migrate/from-client-go-and-controller-runtime'),
      page('From elector packages of npm', 'migrate/from-npm-elector-packages'),
    ],
  },
  {
    text: 'Reference',
    items: [
      page('Options', 'reference/options'),
      page('Exit codes', 'reference/exit-codes'),
      page('Environment', 'reference/environment'),
      page('Kubernetes versions', 'kubernetes'),
      page('Metrics', 'reference/metrics'),
      page('Errors', 'reference/errors'),
    ],
  },
  {
    text: 'API',
    items: [
      page('All packages', 'reference/api/index'),
      page('tenure', 'reference/api/tenure'),
      page('@tenure/api-server', 'reference/api/tenure-api-server'),
      page('@tenure/core', 'reference/api/tenure-core'),
      page('@tenure/file-lock', 'reference/api/tenure-file-lock'),
      page('@tenure/kubernetes', 'reference/api/tenure-kubernetes'),
      page('@tenure/kubernetes/endpoints', 'reference/api/tenure-kubernetes-endpoints'),
      page('@tenure/kubernetes/legacy-locks', 'reference/api/tenure-kubernetes-legacy-locks'),
      page('@tenure/ops', 'reference/api/tenure-ops'),
      page('@tenure/simulator', 'reference/api/tenure-simulator'),
      page('@tenure/testing/leaks', 'reference/api/tenure-testing-leaks'),
      page('@tenure/testing/lock-conformance', 'reference/api/tenure-testing-lock-conformance'),
      page('@tenure/testing/virtual-clock', 'reference/api/tenure-testing-virtual-clock'),
    ],
  },
  {
    text: 'Compare',
    items: [
      page('client-go', 'parity-client-go'),
      page('controller-runtime', 'parity-controller-runtime'),
      page('Endpoint reconcilers', 'parity-endpoint-reconcilers'),
      page('Defects of other electors', 'known-defects'),
    ],
  },
  {
    text: 'Contribute',
    items: [
      page('Architecture', 'architecture'),
      page('Contributing', 'project/CONTRIBUTING'),
      page('Specification', 'SPEC'),
      page('Model', 'project/spec/README'),
      page('Mutants', 'mutants'),
    ],
  },
]

/** The source paths of all pages of the sidebar, without `.md`. */
export function sidebarPages(): readonly string[] {
  return SIDEBAR.flatMap(({ items }) => items.map(({ link }) => link.slice(1)))
}
