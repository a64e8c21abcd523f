import smtplib
from email.message import EmailMessage
m = EmailMessage()
m['From'], m['To'] = 'a@x.example', 'b@x.example'
with smtplib.SMTP('mail.example', 587) as s:
    s.starttls(); s.login('a', 'b'); s.send_message(m)
print('sent')
