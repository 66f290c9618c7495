{{- define "webtroller.selector" -}}
app.kubernetes.io/name: webtroller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "webtroller.labels" -}}
{{ include "webtroller.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "webtroller.metadata" -}}
{{ include "webtroller.metadataWith" (dict "root" .) }}
{{- end }}

{{- /* With further labels and annotations, which win over commonAnnotations. */}}
{{- define "webtroller.metadataWith" -}}
labels:
  {{- include "webtroller.labels" .root | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (.annotations | default dict) (.root.Values.commonAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* The value of the label `job` of this release's series: the ServiceMonitor's Service. */}}
{{- define "webtroller.job" -}}
{{ .Release.Name }}-metrics
{{- end }}

{{- define "webtroller.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.release | default (printf "v%s" .Chart.AppVersion) }}
{{- end }}

{{- define "webtroller.securityContext" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* Not empty where another program makes and renews the certificate. */}}
{{- define "webtroller.mountsCertificate" -}}
{{- if or .Values.certManager.enabled .Values.externalCertInjection.enabled }}yes{{ end }}
{{- end }}

{{- /* The name of a Service has at most 63 letters. */}}
{{- define "webtroller.service" -}}
{{ if .Values.besideGatekeeper }}{{ .Release.Name | trunc 47 | trimSuffix "-" }}{{ else }}gatekeeper{{ end }}-webhook-service
{{- end }}

{{- define "webtroller.configuration" -}}
{{- $given := .Values.validatingWebhookName }}
{{- if and .Values.besideGatekeeper (eq $given "gatekeeper-validating-webhook-configuration") -}}
{{ .Release.Name }}-validating-webhook-configuration
{{- else }}{{ $given }}{{ end }}
{{- end }}

{{- /* Of the operator's own certificate, or of the one that another program keeps. */}}
{{- define "webtroller.secret" -}}
{{- $given := .Values.externalCertInjection.secretName }}
{{- if and .Values.besideGatekeeper (eq $given "gatekeeper-webhook-server-cert") -}}
{{ .Release.Name }}-webhook-server-cert
{{- else }}{{ $given }}{{ end }}
{{- end }}

{{- /* Gatekeeper's levels are taken, too. */}}
{{- define "webtroller.log" -}}
{{ if eq (upper .Values.logLevel) "WARNING" }}warn{{ else }}{{ .Values.logLevel }}{{ end }}
{{- end }}

{{- define "webtroller.operations" -}}
CREATE,UPDATE{{ if .Values.enableDeleteOperations }},DELETE{{ end }}{{ if .Values.enableConnectOperations }},CONNECT{{ end }}
{{- end }}

{{- /* Seconds that pods may take to end: their grace period, and what a busy node needs beside it. */}}
{{- define "webtroller.patience" -}}
{{ add .Values.controllerManager.terminationGracePeriodSeconds 30 }}
{{- end }}

{{- /* A number or a text, such as 50%. Numbers of a values file have to be made integers: 1000000 would be written as 1e+06. */}}
{{- define "webtroller.count" -}}
{{ if kindIs "string" . }}{{ . }}{{ else }}{{ int64 . }}{{ end }}
{{- end }}

{{- /* What the schema of the values cannot say. */}}
{{- define "webtroller.check" -}}
{{- $manager := .Values.controllerManager }}
{{- if lt (int $manager.terminationGracePeriodSeconds) (add $manager.shutdownDelay 15) }}
{{- fail (printf "controllerManager.terminationGracePeriodSeconds is %v: set it to %v or more, so that requests are answered before a pod is killed (shutdownDelay and 15 s)" $manager.terminationGracePeriodSeconds (add $manager.shutdownDelay 15)) }}
{{- end }}
{{- $ports := list (int $manager.port) (int $manager.healthPort) (int .Values.metrics.port) }}
{{- if ne (len ($ports | uniq)) 3 }}
{{- fail "controllerManager.port, controllerManager.healthPort and metrics.port have to differ" }}
{{- end }}
{{- $available := include "webtroller.count" .Values.pdb.controllerManager.minAvailable }}
{{- /* Kubernetes rounds a percentage up. */}}
{{- $kept := int $available }}
{{- if hasSuffix "%" $available }}
{{- $kept = div (add 99 (mul (int (trimSuffix "%" $available)) (int .Values.replicas))) 100 }}
{{- end }}
{{- if and (gt (int .Values.replicas) 1) (ge (int $kept) (int .Values.replicas)) }}
{{- fail (printf "pdb.controllerManager.minAvailable is %v of %v replicas: no node with a pod could be drained" $available .Values.replicas) }}
{{- end }}
{{- /* Two releases would write the same statuses, each over the other's, without end. */}}
{{- range $other := dig "items" list (lookup "apps/v1" "Deployment" "" "") }}
{{- $name := dig "metadata" "labels" "app.kubernetes.io/name" "" $other }}
{{- $own := and (eq $other.metadata.namespace $.Release.Namespace) (eq $other.metadata.name $.Release.Name) }}
{{- if and (eq $name "webtroller") (not $own) }}
{{- fail (printf "the Deployment %s/%s is webtroller's already: a cluster has one release; upgrade or uninstall that one" $other.metadata.namespace $other.metadata.name) }}
{{- end }}
{{- end }}
{{- /* The former configuration would stay, or call a Service that is gone until a pod has written it anew. */}}
{{- $running := lookup "apps/v1" "Deployment" .Release.Namespace .Release.Name }}
{{- $wanted := dict "--validating-webhook-configuration-name=" (include "webtroller.configuration" .) "--cert-service-name=" (include "webtroller.service" .) }}
{{- range $container := dig "spec" "template" "spec" "containers" list $running }}
{{- range $arg := $container.args }}
{{- range $flag, $value := $wanted }}
{{- if and (hasPrefix $flag $arg) (ne $arg (print $flag $value)) }}
{{- fail (printf "the release has %s, and with these values it would have %s: keep besideGatekeeper and validatingWebhookName as they are (helm upgrade --reset-then-reuse-values), or uninstall first" $arg (print $flag $value)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
