{{- define "torpor.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{- define "torpor.fullname" -}}
{{- include "torpor.name" . | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "torpor.selector" -}}
app.kubernetes.io/name: torpor
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: endpoint
{{- end }}

{{- define "torpor.labels" -}}
{{ include "torpor.selector" . }}
{{ include "torpor.release" . }}
{{- end }}

{{- define "torpor.release" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* Not empty where routers answer invocations. */ -}}
{{- define "torpor.routed" -}}
{{- if or .Values.routers.autoscaling.enabled (gt (int .Values.routers.replicas) 0) }}true{{ end }}
{{- end }}

{{- /* Not empty where the endpoint's pod is bound to no volume. */ -}}
{{- define "torpor.free" -}}
{{- if and .Values.database.url .Values.s3.endpoint (not .Values.persistence.enabled) }}true{{ end }}
{{- end }}

{{- define "torpor.routers" -}}
{{ include "torpor.fullname" . }}-routers
{{- end }}

{{- define "torpor.routerSelector" -}}
app.kubernetes.io/name: torpor
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: router
{{- end }}

{{- define "torpor.routerLabels" -}}
{{ include "torpor.routerSelector" . }}
{{ include "torpor.release" . }}
{{- end }}

{{- define "torpor.instanceSelector" -}}
app.kubernetes.io/name: torpor-instance
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "torpor.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "torpor.fullname" .) }}
{{- end }}

{{- define "torpor.image" -}}
{{- $image := index . 0 }}{{ $chart := index . 1 }}{{ $member := index . 2 }}
{{- $repository := required (printf "%s must name an image: build it from the Dockerfile, and push it to your registry" $member) $image.repository }}
{{- if $image.digest }}{{ printf "%s@%s" $repository $image.digest }}{{ else }}{{ printf "%s:%s" $repository ($image.tag | default $chart.AppVersion) }}{{ end }}
{{- end }}

{{- define "torpor.scheme" -}}
{{ ternary "https" "http" (not (empty .Values.tls.existingSecret)) }}
{{- end }}

{{- define "torpor.health" -}}
httpGet: {path: /_torpor/health, port: http, scheme: {{ include "torpor.scheme" . | upper }}}
{{- end }}

{{- /* The names of a Service in the cluster. */ -}}
{{- define "torpor.allowHosts" -}}
{{- $service := index . 0 }}{{ $namespace := index . 1 -}}
- --allow-host={{ $service }}
- --allow-host={{ $service }}.{{ $namespace }}
- --allow-host={{ $service }}.{{ $namespace }}.svc
- --allow-host={{ $service }}.{{ $namespace }}.svc.cluster.local
{{- end }}

{{- /* The host by which pods call the endpoint. */ -}}
{{- define "torpor.host" -}}
{{ .Values.tls.host | default (printf "%s.%s.svc" (include "torpor.fullname" .) .Release.Namespace) }}
{{- end }}

{{- define "torpor.url" -}}
{{ include "torpor.scheme" . }}://{{ include "torpor.host" . }}:{{ .Values.service.port }}
{{- end }}

{{- /* The egress rule that lets a pod ask the cluster's names. */ -}}
{{- define "torpor.egressToNames" -}}
- to:
    - namespaceSelector: {}
      podSelector: {matchLabels: {k8s-app: kube-dns}}
  ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end }}

{{- /* A table of texts as TOML. A JSON text is a TOML text. */ -}}
{{- define "torpor.tomlTable" -}}
{ {{- $first := true }}{{ range $name, $value := . }}{{ if not $first }},{{ end }}{{ $first = false }} {{ $name | toJson }} = {{ $value | toJson }}{{ end }} }
{{- end }}

{{- /* The restricted profile of the Pod Security Standards. */ -}}
{{- define "torpor.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "torpor.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
