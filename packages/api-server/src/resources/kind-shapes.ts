/*
 * The shapes of the built-in kinds, as `test/control-plane/cmd/kind-shapes` prints them: one message per line, one field per
 * semicolon. A field is its name in JSON, `!` where it is required, its number in protobuf, its type, and how a patch merges it. The
 * fields of a `^` belong to the outer message in JSON. A list is `T[keys]`, `T[=]` for a set, `T[-]` where it is atomic; a map is
 * `T{}`, and `T{=}` where it is atomic. Enumerations follow their type in parentheses. A `*` keeps its zero value.
 */
export const kindShapes = `
admissionregistration.v1.AuditAnnotation: key! 1 string; valueExpression! 2 string
admissionregistration.v1.ExpressionWarning: fieldRef! 2 string; warning! 3 string
admissionregistration.v1.MatchCondition: name! 1 string; expression! 2 string
admissionregistration.v1.MatchResources: atomic; namespaceSelector 1 meta.v1.LabelSelector; objectSelector 2 meta.v1.LabelSelector; resourceRules 3 admissionregistration.v1.NamedRuleWithOperations[-]; excludeResourceRules 4 admissionregistration.v1.NamedRuleWithOperations[-]; matchPolicy 7 string(Equivalent|Exact)*
admissionregistration.v1.NamedRuleWithOperations: atomic; resourceNames 1 string[-]; ^ 2 admissionregistration.v1.RuleWithOperations
admissionregistration.v1.ParamKind: atomic; apiVersion 1 string; kind 2 string
admissionregistration.v1.ParamRef: atomic; name 1 string; namespace 2 string; selector 3 meta.v1.LabelSelector; parameterNotFoundAction 4 string*
admissionregistration.v1.Rule: apiGroups 1 string[-]; apiVersions 2 string[-]; resources 3 string[-]; scope 4 string(*|Cluster|Namespaced)*
admissionregistration.v1.RuleWithOperations: operations 1 string(*|CONNECT|CREATE|DELETE|UPDATE)[-]; ^ 2 admissionregistration.v1.Rule
admissionregistration.v1.TypeChecking: expressionWarnings 1 admissionregistration.v1.ExpressionWarning[-]
admissionregistration.v1.ValidatingAdmissionPolicy: metadata 1 meta.v1.ObjectMeta; spec 2 admissionregistration.v1.ValidatingAdmissionPolicySpec; status 3 admissionregistration.v1.ValidatingAdmissionPolicyStatus
admissionregistration.v1.ValidatingAdmissionPolicyBinding: metadata 1 meta.v1.ObjectMeta; spec! 2 admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec
admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec: policyName! 1 string; paramRef 2 admissionregistration.v1.ParamRef; matchResources 3 admissionregistration.v1.MatchResources; validationActions! 4 string(Audit|Deny|Warn)[=]
admissionregistration.v1.ValidatingAdmissionPolicySpec: paramKind 1 admissionregistration.v1.ParamKind; matchConstraints 2 admissionregistration.v1.MatchResources; validations 3 admissionregistration.v1.Validation[-]; failurePolicy 4 string(Fail|Ignore)*; auditAnnotations 5 admissionregistration.v1.AuditAnnotation[-]; matchConditions 6 admissionregistration.v1.MatchCondition[name] merge:name; variables 7 admissionregistration.v1.Variable[name] merge:name
admissionregistration.v1.ValidatingAdmissionPolicyStatus: observedGeneration 1 int64; typeChecking 2 admissionregistration.v1.TypeChecking; conditions 3 meta.v1.Condition[type]
admissionregistration.v1.Validation: expression! 1 string; message 2 string; reason 3 string*; messageExpression 4 string
admissionregistration.v1.Variable: atomic; name! 1 string; expression! 2 string
apps.v1.Deployment: metadata 1 meta.v1.ObjectMeta; spec 2 apps.v1.DeploymentSpec; status 3 apps.v1.DeploymentStatus
apps.v1.DeploymentCondition: type! 1 string; status! 2 string; lastUpdateTime 6 time; lastTransitionTime 7 time; reason 4 string; message 5 string
apps.v1.DeploymentSpec: replicas 1 int32*; selector! 2 meta.v1.LabelSelector; template! 3 core.v1.PodTemplateSpec; strategy 4 apps.v1.DeploymentStrategy retainKeys; minReadySeconds 5 int32; revisionHistoryLimit 6 int32*; paused 7 boolean; progressDeadlineSeconds 9 int32*
apps.v1.DeploymentStatus: observedGeneration 1 int64; replicas 2 int32; updatedReplicas 3 int32; readyReplicas 7 int32; availableReplicas 4 int32; unavailableReplicas 5 int32; terminatingReplicas 9 int32*; conditions 6 apps.v1.DeploymentCondition[type] merge:type; collisionCount 8 int32*
apps.v1.DeploymentStrategy: type 1 string(Recreate|RollingUpdate); rollingUpdate 2 apps.v1.RollingUpdateDeployment
apps.v1.RollingUpdateDeployment: maxUnavailable 1 intOrString; maxSurge 2 intOrString
authentication.v1.SelfSubjectReview: metadata 1 meta.v1.ObjectMeta; status 2 authentication.v1.SelfSubjectReviewStatus
authentication.v1.SelfSubjectReviewStatus: userInfo 1 authentication.v1.UserInfo
authentication.v1.UserInfo: username 1 string; uid 2 string; groups 3 string[-]; extra 4 strings{}
authorization.v1.FieldSelectorAttributes: rawSelector 1 string; requirements 2 meta.v1.FieldSelectorRequirement[-]
authorization.v1.LabelSelectorAttributes: rawSelector 1 string; requirements 2 meta.v1.LabelSelectorRequirement[-]
authorization.v1.NonResourceAttributes: path 1 string; verb 2 string
authorization.v1.NonResourceRule: verbs! 1 string[-]; nonResourceURLs 2 string[-]
authorization.v1.ResourceAttributes: namespace 1 string; verb 2 string; group 3 string; version 4 string; resource 5 string; subresource 6 string; name 7 string; fieldSelector 8 authorization.v1.FieldSelectorAttributes; labelSelector 9 authorization.v1.LabelSelectorAttributes
authorization.v1.ResourceRule: verbs! 1 string[-]; apiGroups 2 string[-]; resources 3 string[-]; resourceNames 4 string[-]
authorization.v1.SelfSubjectAccessReview: metadata 1 meta.v1.ObjectMeta; spec! 2 authorization.v1.SelfSubjectAccessReviewSpec; status 3 authorization.v1.SubjectAccessReviewStatus
authorization.v1.SelfSubjectAccessReviewSpec: resourceAttributes 1 authorization.v1.ResourceAttributes; nonResourceAttributes 2 authorization.v1.NonResourceAttributes
authorization.v1.SelfSubjectRulesReview: metadata 1 meta.v1.ObjectMeta; spec! 2 authorization.v1.SelfSubjectRulesReviewSpec; status 3 authorization.v1.SubjectRulesReviewStatus
authorization.v1.SelfSubjectRulesReviewSpec: namespace 1 string
authorization.v1.SubjectAccessReview: metadata 1 meta.v1.ObjectMeta; spec! 2 authorization.v1.SubjectAccessReviewSpec; status 3 authorization.v1.SubjectAccessReviewStatus
authorization.v1.SubjectAccessReviewSpec: resourceAttributes 1 authorization.v1.ResourceAttributes; nonResourceAttributes 2 authorization.v1.NonResourceAttributes; user 3 string; groups 4 string[-]; extra 5 strings{}; uid 6 string
authorization.v1.SubjectAccessReviewStatus: allowed! 1 boolean; denied 4 boolean; reason 2 string; evaluationError 3 string
authorization.v1.SubjectRulesReviewStatus: resourceRules! 1 authorization.v1.ResourceRule[-]; nonResourceRules! 2 authorization.v1.NonResourceRule[-]; incomplete! 3 boolean; evaluationError 4 string
coordination.v1.Lease: metadata 1 meta.v1.ObjectMeta; spec 2 coordination.v1.LeaseSpec
coordination.v1.LeaseSpec: holderIdentity 1 string*; leaseDurationSeconds 2 int32*; acquireTime 3 microTime; renewTime 4 microTime; leaseTransitions 5 int32*; strategy 6 string*; preferredHolder 7 string*
coordination.v1alpha2.LeaseCandidate: metadata 1 meta.v1.ObjectMeta; spec! 2 coordination.v1alpha2.LeaseCandidateSpec
coordination.v1alpha2.LeaseCandidateSpec: leaseName! 1 string; pingTime 2 microTime; renewTime 3 microTime; binaryVersion! 4 string; emulationVersion 5 string; strategy! 6 string
coordination.v1beta1.LeaseCandidate: metadata 1 meta.v1.ObjectMeta; spec! 2 coordination.v1beta1.LeaseCandidateSpec
coordination.v1beta1.LeaseCandidateSpec: leaseName! 1 string; pingTime 2 microTime; renewTime 3 microTime; binaryVersion! 4 string; emulationVersion 5 string; strategy! 6 string
core.v1.AWSElasticBlockStoreVolumeSource: volumeID! 1 string; fsType 2 string; partition 3 int32; readOnly 4 boolean
core.v1.Affinity: nodeAffinity 1 core.v1.NodeAffinity; podAffinity 2 core.v1.PodAffinity; podAntiAffinity 3 core.v1.PodAntiAffinity
core.v1.AppArmorProfile: type! 1 string(Localhost|RuntimeDefault|Unconfined); localhostProfile 2 string*
core.v1.AzureDiskVolumeSource: diskName! 1 string; diskURI! 2 string; cachingMode 3 string(None|ReadOnly|ReadWrite)*; fsType 4 string*; readOnly 5 boolean*; kind 6 string(Dedicated|Managed|Shared)*
core.v1.AzureFileVolumeSource: secretName! 1 string; shareName! 2 string; readOnly 3 boolean
core.v1.CSIVolumeSource: driver! 1 string; readOnly 2 boolean*; fsType 3 string*; volumeAttributes 4 string{}; nodePublishSecretRef 5 core.v1.LocalObjectReference
core.v1.Capabilities: add 1 string[-]; drop 2 string[-]
core.v1.CephFSVolumeSource: monitors! 1 string[-]; path 2 string; user 3 string; secretFile 4 string; secretRef 5 core.v1.LocalObjectReference; readOnly 6 boolean
core.v1.CinderVolumeSource: volumeID! 1 string; fsType 2 string; readOnly 3 boolean; secretRef 4 core.v1.LocalObjectReference
core.v1.ClientIPConfig: timeoutSeconds 1 int32*
core.v1.ClusterTrustBundleProjection: name 1 string*; signerName 2 string*; labelSelector 3 meta.v1.LabelSelector; optional 5 boolean*; path! 4 string
core.v1.ConfigMap: metadata 1 meta.v1.ObjectMeta; immutable 4 boolean*; data 2 string{}; binaryData 3 bytes{}
core.v1.ConfigMapEnvSource: ^ 1 core.v1.LocalObjectReference; optional 2 boolean*
core.v1.ConfigMapKeySelector: atomic; ^ 1 core.v1.LocalObjectReference; key! 2 string; optional 3 boolean*
core.v1.ConfigMapProjection: ^ 1 core.v1.LocalObjectReference; items 2 core.v1.KeyToPath[-]; optional 4 boolean*
core.v1.ConfigMapVolumeSource: ^ 1 core.v1.LocalObjectReference; items 2 core.v1.KeyToPath[-]; defaultMode 3 int32*; optional 4 boolean*
core.v1.Container: name! 1 string; image 2 string; command 3 string[-]; args 4 string[-]; workingDir 5 string; ports 6 core.v1.ContainerPort[containerPort,protocol] merge:containerPort; envFrom 19 core.v1.EnvFromSource[-]; env 7 core.v1.EnvVar[name] merge:name; resources 8 core.v1.ResourceRequirements; resizePolicy 23 core.v1.ContainerResizePolicy[-]; restartPolicy 24 string*; restartPolicyRules 25 core.v1.ContainerRestartRule[-]; volumeMounts 9 core.v1.VolumeMount[mountPath] merge:mountPath; volumeDevices 21 core.v1.VolumeDevice[devicePath] merge:devicePath; livenessProbe 10 core.v1.Probe; readinessProbe 11 core.v1.Probe; startupProbe 22 core.v1.Probe; lifecycle 12 core.v1.Lifecycle; terminationMessagePath 13 string; terminationMessagePolicy 20 string(FallbackToLogsOnError|File); imagePullPolicy 14 string(Always|IfNotPresent|Never); securityContext 15 core.v1.SecurityContext; stdin 16 boolean; stdinOnce 17 boolean; tty 18 boolean
core.v1.ContainerExtendedResourceRequest: containerName! 1 string; resourceName! 2 string; requestName! 3 string
core.v1.ContainerPort: name 1 string; hostPort 2 int32; containerPort! 3 int32; protocol 4 string(SCTP|TCP|UDP); hostIP 5 string
core.v1.ContainerResizePolicy: resourceName! 1 string; restartPolicy! 2 string
core.v1.ContainerRestartRule: action! 1 string; exitCodes 2 core.v1.ContainerRestartRuleOnExitCodes
core.v1.ContainerRestartRuleOnExitCodes: operator! 1 string; values 2 int32[=]
core.v1.ContainerState: waiting 1 core.v1.ContainerStateWaiting; running 2 core.v1.ContainerStateRunning; terminated 3 core.v1.ContainerStateTerminated
core.v1.ContainerStateRunning: startedAt 1 time
core.v1.ContainerStateTerminated: exitCode! 1 int32; signal 2 int32; reason 3 string; message 4 string; startedAt 5 time; finishedAt 6 time; containerID 7 string
core.v1.ContainerStateWaiting: reason 1 string; message 2 string
core.v1.ContainerStatus: name! 1 string; state 2 core.v1.ContainerState; lastState 3 core.v1.ContainerState; ready! 4 boolean; restartCount! 5 int32; image! 6 string; imageID! 7 string; containerID 8 string; started 9 boolean*; allocatedResources 10 quantity{}; resources 11 core.v1.ResourceRequirements; volumeMounts 12 core.v1.VolumeMountStatus[mountPath] merge:mountPath; user 13 core.v1.ContainerUser; allocatedResourcesStatus 14 core.v1.ResourceStatus[name] merge:name; stopSignal 15 string(SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ)*
core.v1.ContainerUser: linux 1 core.v1.LinuxContainerUser
core.v1.DownwardAPIProjection: items 1 core.v1.DownwardAPIVolumeFile[-]
core.v1.DownwardAPIVolumeFile: path! 1 string; fieldRef 2 core.v1.ObjectFieldSelector; resourceFieldRef 3 core.v1.ResourceFieldSelector; mode 4 int32*
core.v1.DownwardAPIVolumeSource: items 1 core.v1.DownwardAPIVolumeFile[-]; defaultMode 2 int32*
core.v1.EmptyDirVolumeSource: medium 1 string; sizeLimit 2 quantity
core.v1.EndpointAddress: atomic; ip! 1 string; hostname 3 string; nodeName 4 string*; targetRef 2 core.v1.ObjectReference
core.v1.EndpointPort: atomic; name 1 string; port! 2 int32; protocol 3 string(SCTP|TCP|UDP); appProtocol 4 string*
core.v1.EndpointSubset: addresses 1 core.v1.EndpointAddress[-]; notReadyAddresses 2 core.v1.EndpointAddress[-]; ports 3 core.v1.EndpointPort[-]
core.v1.Endpoints: metadata 1 meta.v1.ObjectMeta; subsets 2 core.v1.EndpointSubset[-]
core.v1.EnvFromSource: prefix 1 string; configMapRef 2 core.v1.ConfigMapEnvSource; secretRef 3 core.v1.SecretEnvSource
core.v1.EnvVar: name! 1 string; value 2 string; valueFrom 3 core.v1.EnvVarSource
core.v1.EnvVarSource: fieldRef 1 core.v1.ObjectFieldSelector; resourceFieldRef 2 core.v1.ResourceFieldSelector; configMapKeyRef 3 core.v1.ConfigMapKeySelector; secretKeyRef 4 core.v1.SecretKeySelector; fileKeyRef 5 core.v1.FileKeySelector
core.v1.EphemeralContainer: ^ 1 core.v1.EphemeralContainerCommon; targetContainerName 2 string
core.v1.EphemeralContainerCommon: name! 1 string; image 2 string; command 3 string[-]; args 4 string[-]; workingDir 5 string; ports 6 core.v1.ContainerPort[containerPort,protocol] merge:containerPort; envFrom 19 core.v1.EnvFromSource[-]; env 7 core.v1.EnvVar[name] merge:name; resources 8 core.v1.ResourceRequirements; resizePolicy 23 core.v1.ContainerResizePolicy[-]; restartPolicy 24 string*; restartPolicyRules 25 core.v1.ContainerRestartRule[-]; volumeMounts 9 core.v1.VolumeMount[mountPath] merge:mountPath; volumeDevices 21 core.v1.VolumeDevice[devicePath] merge:devicePath; livenessProbe 10 core.v1.Probe; readinessProbe 11 core.v1.Probe; startupProbe 22 core.v1.Probe; lifecycle 12 core.v1.Lifecycle; terminationMessagePath 13 string; terminationMessagePolicy 20 string(FallbackToLogsOnError|File); imagePullPolicy 14 string(Always|IfNotPresent|Never); securityContext 15 core.v1.SecurityContext; stdin 16 boolean; stdinOnce 17 boolean; tty 18 boolean
core.v1.EphemeralVolumeSource: volumeClaimTemplate 1 core.v1.PersistentVolumeClaimTemplate
core.v1.Event: metadata! 1 meta.v1.ObjectMeta; involvedObject! 2 core.v1.ObjectReference; reason 3 string; message 4 string; source 5 core.v1.EventSource; firstTimestamp 6 time; lastTimestamp 7 time; count 8 int32; type 9 string; eventTime 10 microTime; series 11 core.v1.EventSeries; action 12 string; related 13 core.v1.ObjectReference; reportingComponent 14 string; reportingInstance 15 string
core.v1.EventSeries: count 1 int32; lastObservedTime 2 microTime
core.v1.EventSource: component 1 string; host 2 string
core.v1.ExecAction: command 1 string[-]
core.v1.FCVolumeSource: targetWWNs 1 string[-]; lun 2 int32*; fsType 3 string; readOnly 4 boolean; wwids 5 string[-]
core.v1.FileKeySelector: atomic; volumeName! 1 string; path! 2 string; key! 3 string; optional 4 boolean*
core.v1.FlexVolumeSource: driver! 1 string; fsType 2 string; secretRef 3 core.v1.LocalObjectReference; readOnly 4 boolean; options 5 string{}
core.v1.FlockerVolumeSource: datasetName 1 string; datasetUUID 2 string
core.v1.GCEPersistentDiskVolumeSource: pdName! 1 string; fsType 2 string; partition 3 int32; readOnly 4 boolean
core.v1.GRPCAction: port! 1 int32; service 2 string*
core.v1.GitRepoVolumeSource: repository! 1 string; revision 2 string; directory 3 string
core.v1.GlusterfsVolumeSource: endpoints! 1 string; path! 2 string; readOnly 3 boolean
core.v1.HTTPGetAction: path 1 string; port! 2 intOrString; host 3 string; scheme 4 string(HTTP|HTTPS); httpHeaders 5 core.v1.HTTPHeader[-]
core.v1.HTTPHeader: name! 1 string; value! 2 string
core.v1.HostAlias: ip! 1 string; hostnames 2 string[-]
core.v1.HostIP: ip! 1 string
core.v1.HostPathVolumeSource: path! 1 string; type 2 string(|BlockDevice|CharDevice|Directory|DirectoryOrCreate|File|FileOrCreate|Socket)*
core.v1.ISCSIVolumeSource: targetPortal! 1 string; iqn! 2 string; lun! 3 int32; iscsiInterface 4 string; fsType 5 string; readOnly 6 boolean; portals 7 string[-]; chapAuthDiscovery 8 boolean; chapAuthSession 11 boolean; secretRef 10 core.v1.LocalObjectReference; initiatorName 12 string*
core.v1.ImageVolumeSource: reference 1 string; pullPolicy 2 string(Always|IfNotPresent|Never)
core.v1.ImageVolumeStatus: imageRef! 1 string
core.v1.KeyToPath: key! 1 string; path! 2 string; mode 3 int32*
core.v1.Lifecycle: postStart 1 core.v1.LifecycleHandler; preStop 2 core.v1.LifecycleHandler; stopSignal 3 string(SIGABRT|SIGALRM|SIGBUS|SIGCHLD|SIGCLD|SIGCONT|SIGFPE|SIGHUP|SIGILL|SIGINT|SIGIO|SIGIOT|SIGKILL|SIGPIPE|SIGPOLL|SIGPROF|SIGPWR|SIGQUIT|SIGRTMAX|SIGRTMAX-1|SIGRTMAX-10|SIGRTMAX-11|SIGRTMAX-12|SIGRTMAX-13|SIGRTMAX-14|SIGRTMAX-2|SIGRTMAX-3|SIGRTMAX-4|SIGRTMAX-5|SIGRTMAX-6|SIGRTMAX-7|SIGRTMAX-8|SIGRTMAX-9|SIGRTMIN|SIGRTMIN+1|SIGRTMIN+10|SIGRTMIN+11|SIGRTMIN+12|SIGRTMIN+13|SIGRTMIN+14|SIGRTMIN+15|SIGRTMIN+2|SIGRTMIN+3|SIGRTMIN+4|SIGRTMIN+5|SIGRTMIN+6|SIGRTMIN+7|SIGRTMIN+8|SIGRTMIN+9|SIGSEGV|SIGSTKFLT|SIGSTOP|SIGSYS|SIGTERM|SIGTRAP|SIGTSTP|SIGTTIN|SIGTTOU|SIGURG|SIGUSR1|SIGUSR2|SIGVTALRM|SIGWINCH|SIGXCPU|SIGXFSZ)*
core.v1.LifecycleHandler: exec 1 core.v1.ExecAction; httpGet 2 core.v1.HTTPGetAction; tcpSocket 3 core.v1.TCPSocketAction; sleep 4 core.v1.SleepAction
core.v1.LimitRange: metadata 1 meta.v1.ObjectMeta; spec 2 core.v1.LimitRangeSpec
core.v1.LimitRangeItem: type! 1 string; max 2 quantity{}; min 3 quantity{}; default 4 quantity{}; defaultRequest 5 quantity{}; maxLimitRequestRatio 6 quantity{}
core.v1.LimitRangeSpec: limits! 1 core.v1.LimitRangeItem[-]
core.v1.LinuxContainerUser: uid! 1 int64; gid! 2 int64; supplementalGroups 3 int64[-]
core.v1.LoadBalancerIngress: ip 1 string; hostname 2 string; ipMode 3 string*; ports 4 core.v1.PortStatus[-]
core.v1.LoadBalancerStatus: ingress 1 core.v1.LoadBalancerIngress[-]
core.v1.LocalObjectReference: atomic; name 1 string
core.v1.NFSVolumeSource: server! 1 string; path! 2 string; readOnly 3 boolean
core.v1.Namespace: metadata 1 meta.v1.ObjectMeta; spec 2 core.v1.NamespaceSpec; status 3 core.v1.NamespaceStatus
core.v1.NamespaceCondition: type! 1 string; status! 2 string; lastTransitionTime 4 time; reason 5 string; message 6 string
core.v1.NamespaceSpec: finalizers 1 string[-]
core.v1.NamespaceStatus: phase 1 string(Active|Terminating); conditions 2 core.v1.NamespaceCondition[type] merge:type
core.v1.NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution 1 core.v1.NodeSelector; preferredDuringSchedulingIgnoredDuringExecution 2 core.v1.PreferredSchedulingTerm[-]
core.v1.NodeAllocatableResourceClaimStatus: resourceClaimName! 1 string; containers 2 string[=]; resources! 3 quantity{}
core.v1.NodeSelector: atomic; nodeSelectorTerms! 1 core.v1.NodeSelectorTerm[-]
core.v1.NodeSelectorRequirement: key! 1 string; operator! 2 string(DoesNotExist|Exists|Gt|In|Lt|NotIn); values 3 string[-]
core.v1.NodeSelectorTerm: atomic; matchExpressions 1 core.v1.NodeSelectorRequirement[-]; matchFields 2 core.v1.NodeSelectorRequirement[-]
core.v1.ObjectFieldSelector: atomic; apiVersion 1 string; fieldPath! 2 string
core.v1.ObjectReference: atomic; kind 1 string; namespace 2 string; name 3 string; uid 4 string; apiVersion 5 string; resourceVersion 6 string; fieldPath 7 string
core.v1.PersistentVolumeClaimSpec: accessModes 1 string(ReadOnlyMany|ReadWriteMany|ReadWriteOnce|ReadWriteOncePod)[-]; selector 4 meta.v1.LabelSelector; resources 2 core.v1.VolumeResourceRequirements; volumeName 3 string; storageClassName 5 string*; volumeMode 6 string(Block|Filesystem)*; dataSource 7 core.v1.TypedLocalObjectReference; dataSourceRef 8 core.v1.TypedObjectReference; volumeAttributesClassName 9 string*
core.v1.PersistentVolumeClaimTemplate: metadata 1 meta.v1.ObjectMeta; spec! 2 core.v1.PersistentVolumeClaimSpec
core.v1.PersistentVolumeClaimVolumeSource: claimName! 1 string; readOnly 2 boolean
core.v1.PhotonPersistentDiskVolumeSource: pdID! 1 string; fsType 2 string
core.v1.Pod: metadata 1 meta.v1.ObjectMeta; spec 2 core.v1.PodSpec; status 3 core.v1.PodStatus
core.v1.PodAffinity: requiredDuringSchedulingIgnoredDuringExecution 1 core.v1.PodAffinityTerm[-]; preferredDuringSchedulingIgnoredDuringExecution 2 core.v1.WeightedPodAffinityTerm[-]
core.v1.PodAffinityTerm: labelSelector 1 meta.v1.LabelSelector; namespaces 2 string[-]; topologyKey! 3 string; namespaceSelector 4 meta.v1.LabelSelector; matchLabelKeys 5 string[-]; mismatchLabelKeys 6 string[-]
core.v1.PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution 1 core.v1.PodAffinityTerm[-]; preferredDuringSchedulingIgnoredDuringExecution 2 core.v1.WeightedPodAffinityTerm[-]
core.v1.PodCertificateProjection: signerName! 1 string; keyType! 2 string; maxExpirationSeconds 3 int32*; credentialBundlePath 4 string; keyPath 5 string; certificateChainPath 6 string; userAnnotations 7 string{}
core.v1.PodCondition: type! 1 string; observedGeneration 7 int64; status! 2 string; lastProbeTime 3 time; lastTransitionTime 4 time; reason 5 string; message 6 string
core.v1.PodDNSConfig: nameservers 1 string[-]; searches 2 string[-]; options 3 core.v1.PodDNSConfigOption[-]
core.v1.PodDNSConfigOption: name 1 string; value 2 string*
core.v1.PodExtendedResourceClaimStatus: requestMappings! 1 core.v1.ContainerExtendedResourceRequest[-]; resourceClaimName! 2 string
core.v1.PodIP: ip! 1 string
core.v1.PodOS: name! 1 string
core.v1.PodReadinessGate: conditionType! 1 string
core.v1.PodResourceClaim: name! 1 string; resourceClaimName 3 string*; resourceClaimTemplateName 4 string*
core.v1.PodResourceClaimStatus: name! 1 string; resourceClaimName 2 string*
core.v1.PodSchedulingGate: name! 1 string
core.v1.PodSchedulingGroup: podGroupName 1 string*
core.v1.PodSecurityContext: seLinuxOptions 1 core.v1.SELinuxOptions; windowsOptions 8 core.v1.WindowsSecurityContextOptions; runAsUser 2 int64*; runAsGroup 6 int64*; runAsNonRoot 3 boolean*; supplementalGroups 4 int64[-]; supplementalGroupsPolicy 12 string(Merge|Strict)*; fsGroup 5 int64*; sysctls 7 core.v1.Sysctl[-]; fsGroupChangePolicy 9 string(Always|OnRootMismatch)*; seccompProfile 10 core.v1.SeccompProfile; appArmorProfile 11 core.v1.AppArmorProfile; seLinuxChangePolicy 13 string*
core.v1.PodSpec: volumes 1 core.v1.Volume[name] merge,retainKeys:name; initContainers 20 core.v1.Container[name] merge:name; containers! 2 core.v1.Container[name] merge:name; ephemeralContainers 34 core.v1.EphemeralContainer[name] merge:name; restartPolicy 3 string(Always|Never|OnFailure); terminationGracePeriodSeconds 4 int64*; activeDeadlineSeconds 5 int64*; dnsPolicy 6 string(ClusterFirst|ClusterFirstWithHostNet|Default|None); nodeSelector 7 string{=}; serviceAccountName 8 string; serviceAccount 9 string; automountServiceAccountToken 21 boolean*; nodeName 10 string; hostNetwork 11 boolean; hostPID 12 boolean; hostIPC 13 boolean; shareProcessNamespace 27 boolean*; securityContext 14 core.v1.PodSecurityContext; imagePullSecrets 15 core.v1.LocalObjectReference[name] merge:name; hostname 16 string; subdomain 17 string; affinity 18 core.v1.Affinity; schedulerName 19 string; tolerations 22 core.v1.Toleration[-]; hostAliases 23 core.v1.HostAlias[ip] merge:ip; priorityClassName 24 string; priority 25 int32*; dnsConfig 26 core.v1.PodDNSConfig; readinessGates 28 core.v1.PodReadinessGate[-]; runtimeClassName 29 string*; enableServiceLinks 30 boolean*; preemptionPolicy 31 string(Never|PreemptLowerPriority)*; overhead 32 quantity{}; topologySpreadConstraints 33 core.v1.TopologySpreadConstraint[topologyKey,whenUnsatisfiable] merge:topologyKey; setHostnameAsFQDN 35 boolean*; os 36 core.v1.PodOS; hostUsers 37 boolean*; schedulingGates 38 core.v1.PodSchedulingGate[name] merge:name; resourceClaims 39 core.v1.PodResourceClaim[name] merge,retainKeys:name; resources 40 core.v1.ResourceRequirements; hostnameOverride 41 string*; schedulingGroup 43 core.v1.PodSchedulingGroup
core.v1.PodStatus: observedGeneration 17 int64; phase 1 string(Failed|Pending|Running|Succeeded|Unknown); conditions 2 core.v1.PodCondition[type] merge:type; message 3 string; reason 4 string; nominatedNodeName 11 string; hostIP 5 string; hostIPs 16 core.v1.HostIP[-] merge:ip; podIP 6 string; podIPs 12 core.v1.PodIP[ip] merge:ip; startTime 7 time; initContainerStatuses 10 core.v1.ContainerStatus[-]; containerStatuses 8 core.v1.ContainerStatus[-]; qosClass 9 string(BestEffort|Burstable|Guaranteed); ephemeralContainerStatuses 13 core.v1.ContainerStatus[-]; resize 14 string; resourceClaimStatuses 15 core.v1.PodResourceClaimStatus[name] merge,retainKeys:name; extendedResourceClaimStatus 18 core.v1.PodExtendedResourceClaimStatus; allocatedResources 19 quantity{}; resources 20 core.v1.ResourceRequirements; nodeAllocatableResourceClaimStatuses 21 core.v1.NodeAllocatableResourceClaimStatus[-]
core.v1.PodTemplateSpec: metadata 1 meta.v1.ObjectMeta; spec 2 core.v1.PodSpec
core.v1.PortStatus: port! 1 int32; protocol! 2 string(SCTP|TCP|UDP); error 3 string*
core.v1.PortworxVolumeSource: volumeID! 1 string; fsType 2 string; readOnly 3 boolean
core.v1.PreferredSchedulingTerm: weight! 1 int32; preference! 2 core.v1.NodeSelectorTerm
core.v1.Probe: ^ 1 core.v1.ProbeHandler; initialDelaySeconds 2 int32; timeoutSeconds 3 int32; periodSeconds 4 int32; successThreshold 5 int32; failureThreshold 6 int32; terminationGracePeriodSeconds 7 int64*
core.v1.ProbeHandler: exec 1 core.v1.ExecAction; httpGet 2 core.v1.HTTPGetAction; tcpSocket 3 core.v1.TCPSocketAction; grpc 4 core.v1.GRPCAction
core.v1.ProjectedVolumeSource: sources 1 core.v1.VolumeProjection[-]; defaultMode 2 int32*
core.v1.QuobyteVolumeSource: registry! 1 string; volume! 2 string; readOnly 3 boolean; user 4 string; group 5 string; tenant 6 string
core.v1.RBDVolumeSource: monitors! 1 string[-]; image! 2 string; fsType 3 string; pool 4 string; user 5 string; keyring 6 string; secretRef 7 core.v1.LocalObjectReference; readOnly 8 boolean
core.v1.ResourceClaim: name! 1 string; request 2 string
core.v1.ResourceFieldSelector: atomic; containerName 1 string; resource! 2 string; divisor 3 quantity
core.v1.ResourceHealth: resourceID! 1 string; health 2 string; message 6 string*
core.v1.ResourceQuota: metadata 1 meta.v1.ObjectMeta; spec 2 core.v1.ResourceQuotaSpec; status 3 core.v1.ResourceQuotaStatus
core.v1.ResourceQuotaSpec: hard 1 quantity{}; scopes 2 string(BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass)[-]; scopeSelector 3 core.v1.ScopeSelector
core.v1.ResourceQuotaStatus: hard 1 quantity{}; used 2 quantity{}
core.v1.ResourceRequirements: limits 1 quantity{}; requests 2 quantity{}; claims 3 core.v1.ResourceClaim[name]
core.v1.ResourceStatus: name! 1 string; resources 2 core.v1.ResourceHealth[resourceID]
core.v1.SELinuxOptions: user 1 string; role 2 string; type 3 string; level 4 string
core.v1.ScaleIOVolumeSource: gateway! 1 string; system! 2 string; secretRef! 3 core.v1.LocalObjectReference; sslEnabled 4 boolean; protectionDomain 5 string; storagePool 6 string; storageMode 7 string; volumeName 8 string; fsType 9 string; readOnly 10 boolean
core.v1.ScopeSelector: atomic; matchExpressions 1 core.v1.ScopedResourceSelectorRequirement[-]
core.v1.ScopedResourceSelectorRequirement: scopeName! 1 string(BestEffort|CrossNamespacePodAffinity|NotBestEffort|NotTerminating|PriorityClass|Terminating|VolumeAttributesClass); operator! 2 string(DoesNotExist|Exists|In|NotIn); values 3 string[-]
core.v1.SeccompProfile: type! 1 string(Localhost|RuntimeDefault|Unconfined); localhostProfile 2 string*
core.v1.Secret: metadata 1 meta.v1.ObjectMeta; immutable 5 boolean*; data 2 bytes{}; stringData 4 string{}; type 3 string
core.v1.SecretEnvSource: ^ 1 core.v1.LocalObjectReference; optional 2 boolean*
core.v1.SecretKeySelector: atomic; ^ 1 core.v1.LocalObjectReference; key! 2 string; optional 3 boolean*
core.v1.SecretProjection: ^ 1 core.v1.LocalObjectReference; items 2 core.v1.KeyToPath[-]; optional 4 boolean*
core.v1.SecretVolumeSource: secretName 1 string; items 2 core.v1.KeyToPath[-]; defaultMode 3 int32*; optional 4 boolean*
core.v1.SecurityContext: capabilities 1 core.v1.Capabilities; privileged 2 boolean*; seLinuxOptions 3 core.v1.SELinuxOptions; windowsOptions 10 core.v1.WindowsSecurityContextOptions; runAsUser 4 int64*; runAsGroup 8 int64*; runAsNonRoot 5 boolean*; readOnlyRootFilesystem 6 boolean*; allowPrivilegeEscalation 7 boolean*; procMount 9 string(Default|Unmasked)*; seccompProfile 11 core.v1.SeccompProfile; appArmorProfile 12 core.v1.AppArmorProfile
core.v1.Service: metadata 1 meta.v1.ObjectMeta; spec 2 core.v1.ServiceSpec; status 3 core.v1.ServiceStatus
core.v1.ServiceAccount: metadata 1 meta.v1.ObjectMeta; secrets 2 core.v1.ObjectReference[name] merge:name; imagePullSecrets 3 core.v1.LocalObjectReference[-]; automountServiceAccountToken 4 boolean*
core.v1.ServiceAccountTokenProjection: audience 1 string; expirationSeconds 2 int64*; path! 3 string
core.v1.ServicePort: name 1 string; protocol 2 string(SCTP|TCP|UDP); appProtocol 6 string*; port! 3 int32; targetPort 4 intOrString; nodePort 5 int32
core.v1.ServiceSpec: ports 1 core.v1.ServicePort[port,protocol] merge:port; selector 2 string{=}; clusterIP 3 string; clusterIPs 18 string[-]; type 4 string(ClusterIP|ExternalName|LoadBalancer|NodePort); externalIPs 5 string[-]; sessionAffinity 7 string(ClientIP|None); loadBalancerIP 8 string; loadBalancerSourceRanges 9 string[-]; externalName 10 string; externalTrafficPolicy 11 string(Cluster|Local); healthCheckNodePort 12 int32; publishNotReadyAddresses 13 boolean; sessionAffinityConfig 14 core.v1.SessionAffinityConfig; ipFamilies 19 string(|IPv4|IPv6)[-]; ipFamilyPolicy 17 string(PreferDualStack|RequireDualStack|SingleStack)*; allocateLoadBalancerNodePorts 20 boolean*; loadBalancerClass 21 string*; internalTrafficPolicy 22 string(Cluster|Local)*; trafficDistribution 23 string*
core.v1.ServiceStatus: loadBalancer 1 core.v1.LoadBalancerStatus; conditions 2 meta.v1.Condition[type] merge:type
core.v1.SessionAffinityConfig: clientIP 1 core.v1.ClientIPConfig
core.v1.SleepAction: seconds! 1 int64
core.v1.StorageOSVolumeSource: volumeName 1 string; volumeNamespace 2 string; fsType 3 string; readOnly 4 boolean; secretRef 5 core.v1.LocalObjectReference
core.v1.Sysctl: name! 1 string; value! 2 string
core.v1.TCPSocketAction: port! 1 intOrString; host 2 string
core.v1.Toleration: key 1 string; operator 2 string(Equal|Exists|Gt|Lt); value 3 string; effect 4 string(NoExecute|NoSchedule|PreferNoSchedule); tolerationSeconds 5 int64*
core.v1.TopologySpreadConstraint: maxSkew! 1 int32; topologyKey! 2 string; whenUnsatisfiable! 3 string(DoNotSchedule|ScheduleAnyway); labelSelector 4 meta.v1.LabelSelector; minDomains 5 int32*; nodeAffinityPolicy 6 string(Honor|Ignore)*; nodeTaintsPolicy 7 string(Honor|Ignore)*; matchLabelKeys 8 string[-]
core.v1.TypedLocalObjectReference: atomic; apiGroup 1 string*; kind! 2 string; name! 3 string
core.v1.TypedObjectReference: apiGroup 1 string*; kind! 2 string; name! 3 string; namespace 4 string*
core.v1.Volume: name! 1 string; ^ 2 core.v1.VolumeSource
core.v1.VolumeDevice: name! 1 string; devicePath! 2 string
core.v1.VolumeMount: name! 1 string; readOnly 2 boolean; recursiveReadOnly 7 string*; mountPath! 3 string; subPath 4 string; mountPropagation 5 string(Bidirectional|HostToContainer|None)*; subPathExpr 6 string
core.v1.VolumeMountStatus: name! 1 string; mountPath! 2 string; readOnly 3 boolean; recursiveReadOnly 4 string*; volumeStatus 5 core.v1.VolumeStatus
core.v1.VolumeProjection: secret 1 core.v1.SecretProjection; downwardAPI 2 core.v1.DownwardAPIProjection; configMap 3 core.v1.ConfigMapProjection; serviceAccountToken 4 core.v1.ServiceAccountTokenProjection; clusterTrustBundle 5 core.v1.ClusterTrustBundleProjection; podCertificate 6 core.v1.PodCertificateProjection
core.v1.VolumeResourceRequirements: limits 1 quantity{}; requests 2 quantity{}
core.v1.VolumeSource: hostPath 1 core.v1.HostPathVolumeSource; emptyDir 2 core.v1.EmptyDirVolumeSource; gcePersistentDisk 3 core.v1.GCEPersistentDiskVolumeSource; awsElasticBlockStore 4 core.v1.AWSElasticBlockStoreVolumeSource; gitRepo 5 core.v1.GitRepoVolumeSource; secret 6 core.v1.SecretVolumeSource; nfs 7 core.v1.NFSVolumeSource; iscsi 8 core.v1.ISCSIVolumeSource; glusterfs 9 core.v1.GlusterfsVolumeSource; persistentVolumeClaim 10 core.v1.PersistentVolumeClaimVolumeSource; rbd 11 core.v1.RBDVolumeSource; flexVolume 12 core.v1.FlexVolumeSource; cinder 13 core.v1.CinderVolumeSource; cephfs 14 core.v1.CephFSVolumeSource; flocker 15 core.v1.FlockerVolumeSource; downwardAPI 16 core.v1.DownwardAPIVolumeSource; fc 17 core.v1.FCVolumeSource; azureFile 18 core.v1.AzureFileVolumeSource; configMap 19 core.v1.ConfigMapVolumeSource; vsphereVolume 20 core.v1.VsphereVirtualDiskVolumeSource; quobyte 21 core.v1.QuobyteVolumeSource; azureDisk 22 core.v1.AzureDiskVolumeSource; photonPersistentDisk 23 core.v1.PhotonPersistentDiskVolumeSource; projected 26 core.v1.ProjectedVolumeSource; portworxVolume 24 core.v1.PortworxVolumeSource; scaleIO 25 core.v1.ScaleIOVolumeSource; storageos 27 core.v1.StorageOSVolumeSource; csi 28 core.v1.CSIVolumeSource; ephemeral 29 core.v1.EphemeralVolumeSource; image 30 core.v1.ImageVolumeSource
core.v1.VolumeStatus: image 1 core.v1.ImageVolumeStatus
core.v1.VsphereVirtualDiskVolumeSource: volumePath! 1 string; fsType 2 string; storagePolicyName 3 string; storagePolicyID 4 string
core.v1.WeightedPodAffinityTerm: weight! 1 int32; podAffinityTerm! 2 core.v1.PodAffinityTerm
core.v1.WindowsSecurityContextOptions: gmsaCredentialSpecName 1 string*; gmsaCredentialSpec 2 string*; runAsUserName 3 string*; hostProcess 4 boolean*
discovery.v1.Endpoint: addresses! 1 string[=]; conditions 2 discovery.v1.EndpointConditions; hostname 3 string*; targetRef 4 core.v1.ObjectReference; deprecatedTopology 5 string{}; nodeName 6 string*; zone 7 string*; hints 8 discovery.v1.EndpointHints
discovery.v1.EndpointConditions: ready 1 boolean*; serving 2 boolean*; terminating 3 boolean*
discovery.v1.EndpointHints: forZones 1 discovery.v1.ForZone[-]; forNodes 2 discovery.v1.ForNode[-]
discovery.v1.EndpointPort: atomic; name 1 string*; protocol 2 string(SCTP|TCP|UDP)*; port 3 int32*; appProtocol 4 string*
discovery.v1.EndpointSlice: metadata 1 meta.v1.ObjectMeta; addressType! 4 string(FQDN|IPv4|IPv6); endpoints 2 discovery.v1.Endpoint[-]; ports 3 discovery.v1.EndpointPort[-]
discovery.v1.ForNode: name! 1 string
discovery.v1.ForZone: name! 1 string
events.v1.Event: metadata 1 meta.v1.ObjectMeta; eventTime! 2 microTime; series 3 events.v1.EventSeries; reportingController 4 string; reportingInstance 5 string; action 6 string; reason 7 string; regarding 8 core.v1.ObjectReference; related 9 core.v1.ObjectReference; note 10 string; type 11 string; deprecatedSource 12 core.v1.EventSource; deprecatedFirstTimestamp 13 time; deprecatedLastTimestamp 14 time; deprecatedCount 15 int32
events.v1.EventSeries: count! 1 int32; lastObservedTime! 2 microTime
flowcontrol.v1.ExemptPriorityLevelConfiguration: nominalConcurrencyShares 1 int32*; lendablePercent 2 int32*
flowcontrol.v1.FlowDistinguisherMethod: type! 1 string
flowcontrol.v1.FlowSchema: metadata 1 meta.v1.ObjectMeta; spec 2 flowcontrol.v1.FlowSchemaSpec; status 3 flowcontrol.v1.FlowSchemaStatus
flowcontrol.v1.FlowSchemaCondition: type 1 string; status 2 string; lastTransitionTime 3 time; reason 4 string; message 5 string
flowcontrol.v1.FlowSchemaSpec: priorityLevelConfiguration! 1 flowcontrol.v1.PriorityLevelConfigurationReference; matchingPrecedence 2 int32; distinguisherMethod 3 flowcontrol.v1.FlowDistinguisherMethod; rules 4 flowcontrol.v1.PolicyRulesWithSubjects[-]
flowcontrol.v1.FlowSchemaStatus: conditions 1 flowcontrol.v1.FlowSchemaCondition[type] merge:type
flowcontrol.v1.GroupSubject: name! 1 string
flowcontrol.v1.LimitResponse: type! 1 string; queuing 2 flowcontrol.v1.QueuingConfiguration
flowcontrol.v1.LimitedPriorityLevelConfiguration: nominalConcurrencyShares 1 int32*; limitResponse 2 flowcontrol.v1.LimitResponse; lendablePercent 3 int32*; borrowingLimitPercent 4 int32*
flowcontrol.v1.NonResourcePolicyRule: verbs! 1 string[=]; nonResourceURLs! 6 string[=]
flowcontrol.v1.PolicyRulesWithSubjects: subjects! 1 flowcontrol.v1.Subject[-]; resourceRules 2 flowcontrol.v1.ResourcePolicyRule[-]; nonResourceRules 3 flowcontrol.v1.NonResourcePolicyRule[-]
flowcontrol.v1.PriorityLevelConfiguration: metadata 1 meta.v1.ObjectMeta; spec 2 flowcontrol.v1.PriorityLevelConfigurationSpec; status 3 flowcontrol.v1.PriorityLevelConfigurationStatus
flowcontrol.v1.PriorityLevelConfigurationCondition: type 1 string; status 2 string; lastTransitionTime 3 time; reason 4 string; message 5 string
flowcontrol.v1.PriorityLevelConfigurationReference: name! 1 string
flowcontrol.v1.PriorityLevelConfigurationSpec: type! 1 string; limited 2 flowcontrol.v1.LimitedPriorityLevelConfiguration; exempt 3 flowcontrol.v1.ExemptPriorityLevelConfiguration
flowcontrol.v1.PriorityLevelConfigurationStatus: conditions 1 flowcontrol.v1.PriorityLevelConfigurationCondition[type] merge:type
flowcontrol.v1.QueuingConfiguration: queues 1 int32; handSize 2 int32; queueLengthLimit 3 int32
flowcontrol.v1.ResourcePolicyRule: verbs! 1 string[=]; apiGroups! 2 string[=]; resources! 3 string[=]; clusterScope 4 boolean; namespaces 5 string[=]
flowcontrol.v1.ServiceAccountSubject: namespace! 1 string; name! 2 string
flowcontrol.v1.Subject: kind! 1 string; user 2 flowcontrol.v1.UserSubject; group 3 flowcontrol.v1.GroupSubject; serviceAccount 4 flowcontrol.v1.ServiceAccountSubject
flowcontrol.v1.UserSubject: name! 1 string
meta.v1.Condition: type! 1 string; status! 2 string; observedGeneration 3 int64; lastTransitionTime! 4 time; reason! 5 string; message! 6 string
meta.v1.DeleteOptions: gracePeriodSeconds 1 int64*; preconditions 2 meta.v1.Preconditions; orphanDependents 3 boolean*; propagationPolicy 4 string*; dryRun 5 string[-]; ignoreStoreReadErrorWithClusterBreakingPotential 6 boolean*
meta.v1.FieldSelectorRequirement: key! 1 string; operator! 2 string; values 3 string[-]
meta.v1.LabelSelector: atomic; matchLabels 1 string{}; matchExpressions 2 meta.v1.LabelSelectorRequirement[-]
meta.v1.LabelSelectorRequirement: key! 1 string; operator! 2 string; values 3 string[-]
meta.v1.ListMeta: selfLink 1 string; resourceVersion 2 string; continue 3 string; remainingItemCount 4 int64*; shardInfo 5 meta.v1.ShardInfo
meta.v1.ManagedFieldsEntry: manager 1 string; operation 2 string; apiVersion 3 string; time 4 time; fieldsType 6 string; fieldsV1 7 fieldsV1; subresource 8 string
meta.v1.ObjectMeta: name 1 string; generateName 2 string; namespace 3 string; selfLink 4 string; uid 5 string; resourceVersion 6 string; generation 7 int64; creationTimestamp 8 time; deletionTimestamp 9 time; deletionGracePeriodSeconds 10 int64*; labels 11 string{}; annotations 12 string{}; ownerReferences 13 meta.v1.OwnerReference[uid] merge:uid; finalizers 14 string[=] merge; managedFields 17 meta.v1.ManagedFieldsEntry[-]
meta.v1.OwnerReference: atomic; apiVersion! 5 string; kind! 1 string; name! 3 string; uid! 4 string; controller 6 boolean*; blockOwnerDeletion 7 boolean*
meta.v1.Preconditions: uid 1 string*; resourceVersion 2 string*
meta.v1.ShardInfo: selector! 1 string
policy.v1.PodDisruptionBudget: metadata 1 meta.v1.ObjectMeta; spec 2 policy.v1.PodDisruptionBudgetSpec; status 3 policy.v1.PodDisruptionBudgetStatus
policy.v1.PodDisruptionBudgetSpec: minAvailable 1 intOrString; selector 2 meta.v1.LabelSelector replace; maxUnavailable 3 intOrString; unhealthyPodEvictionPolicy 4 string(AlwaysAllow|IfHealthyBudget)*
policy.v1.PodDisruptionBudgetStatus: observedGeneration 1 int64; disruptedPods 2 time{}; disruptionsAllowed 3 int32; currentHealthy 4 int32; desiredHealthy 5 int32; expectedPods 6 int32; conditions 7 meta.v1.Condition[type] merge:type
rbac.v1.AggregationRule: clusterRoleSelectors 1 meta.v1.LabelSelector[-]
rbac.v1.ClusterRole: metadata 1 meta.v1.ObjectMeta; rules 2 rbac.v1.PolicyRule[-]; aggregationRule 3 rbac.v1.AggregationRule
rbac.v1.ClusterRoleBinding: metadata 1 meta.v1.ObjectMeta; subjects 2 rbac.v1.Subject[-]; roleRef! 3 rbac.v1.RoleRef
rbac.v1.PolicyRule: verbs! 1 string[-]; apiGroups 2 string[-]; resources 3 string[-]; resourceNames 4 string[-]; nonResourceURLs 5 string[-]
rbac.v1.Role: metadata 1 meta.v1.ObjectMeta; rules 2 rbac.v1.PolicyRule[-]
rbac.v1.RoleBinding: metadata 1 meta.v1.ObjectMeta; subjects 2 rbac.v1.Subject[-]; roleRef! 3 rbac.v1.RoleRef
rbac.v1.RoleRef: atomic; apiGroup 1 string; kind! 2 string; name! 3 string
rbac.v1.Subject: atomic; kind! 1 string; apiGroup 2 string; name! 3 string; namespace 4 string
`
