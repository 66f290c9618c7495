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
labels:
  {{- include "webtroller.labels" . | nindent 2 }}
{{- with .Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "webtroller.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.release | default .Chart.AppVersion }}
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

{{- define "webtroller.service" -}}
{{ if .Values.besideGatekeeper }}{{ .Release.Name }}{{ else }}gatekeeper{{ end }}-webhook-service
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

{{- define "webtroller.operations" -}}
CREATE,UPDATE{{ if .Values.enableDeleteOperations }},DELETE{{ end }}{{ if .Values.enableConnectOperations }},CONNECT{{ end }}
{{- end }}
